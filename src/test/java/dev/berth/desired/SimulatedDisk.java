package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A disk that outlives the processes that write to it. Each operation takes time, and fails, when
 * the simulation says so.
 */
public final class SimulatedDisk {
  private final Runnable wait;
  private StateStoreTestFiles files = new StateStoreTestFiles();
  private boolean fails;
  private int torn;
  private int failed;

  /**
   * @param wait before each change: as long as it takes
   */
  public SimulatedDisk(Runnable wait) {
    this.wait = wait;
  }

  public void fails(boolean now) {
    fails = now;
  }

  /** Operations that failed. */
  public int failed() {
    return failed;
  }

  /** Power cuts that left a part of a record. */
  public int torn() {
    return torn;
  }

  /** The process was killed: what it had written stays. */
  public void killed() {
    files = files.killed();
  }

  /** The power was cut: what was forced stays, and any part of what was written behind it. */
  public void powerCut(SplittableRandom random) {
    StateStoreTestFiles before = files;
    files = before.cut();
    for (String name : files.list()) {
      int forced = files.bytes(name).length;
      byte[] written = before.list().contains(name) ? before.bytes(name) : new byte[0];
      if (written.length > forced) {
        int left = forced + random.nextInt(written.length - forced + 1);
        files.put(name, Arrays.copyOf(written, left));
        torn += left > forced && left < written.length ? 1 : 0;
      }
    }
  }

  /** What a process keeps its state with; until it ends or crashes. */
  public JournalLog log(Path directory) {
    return new JournalLog(
        ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, directory), none -> new Held(files));
  }

  /** By one process; when that is gone, what it still does is done nowhere. */
  private final class Held implements StateStoreFiles {
    private final StateStoreTestFiles own;

    Held(StateStoreTestFiles own) {
      this.own = own;
    }

    private void change() throws IOException {
      wait.run();
      if (fails && own == files) {
        failed++;
        own.failAfter(0, false);
      }
    }

    @Override
    public List<String> list() {
      return own.list();
    }

    @Override
    public byte[] read(String name) throws IOException {
      return own.read(name);
    }

    @Override
    public Output open(String name) throws IOException {
      change();
      Output output = own.open(name);
      return new Output() {
        @Override
        public void write(ByteBuffer bytes, long position) throws IOException {
          change();
          output.write(bytes, position);
        }

        @Override
        public void truncate(long size) throws IOException {
          change();
          output.truncate(size);
        }

        @Override
        public void force() throws IOException {
          change();
          output.force();
        }

        @Override
        public void close() throws IOException {
          output.close();
        }
      };
    }

    @Override
    public void rename(String from, String to) throws IOException {
      change();
      own.rename(from, to);
    }

    @Override
    public void delete(String name) throws IOException {
      change();
      own.delete(name);
    }

    @Override
    public void forceNames() throws IOException {
      change();
      own.forceNames();
    }

    @Override
    public void close() {
      own.close();
    }
  }
}
