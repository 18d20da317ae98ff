package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import java.nio.file.Path;
import java.util.Arrays;
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
        ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, directory), none -> held(files));
  }

  /** By one process; when that is gone, what it still does is done nowhere. */
  private StateStoreTestFiles held(StateStoreTestFiles own) {
    own.beforeEachChange(
        () -> {
          wait.run();
          if (fails && own == files) {
            failed++;
            own.failAfter(0, false);
          }
        });
    return own;
  }
}
