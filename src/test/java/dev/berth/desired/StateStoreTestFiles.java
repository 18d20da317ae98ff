package dev.berth.desired;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A directory in memory that fails when it is told to, and that a power cut takes back to what was
 * forced, but for as much of the rest as the test likes.
 */
final class StateStoreTestFiles implements StateStoreFiles {

  private static final class File {
    byte[] bytes = new byte[0];
    byte[] forced = new byte[0];
  }

  private Map<String, File> files = new TreeMap<>();
  private Map<String, File> forcedNames = new TreeMap<>();
  private boolean full;
  private long capacity = Long.MAX_VALUE;
  private int failIn = Integer.MAX_VALUE; // operations that change something
  private boolean failureStays;
  private int operations;
  private Runnable before = () -> {};

  void full(boolean full) {
    this.full = full;
  }

  /** Bytes of all files; a write of more fails when it has taken what was left. */
  void capacity(long bytes) {
    capacity = bytes;
  }

  private long taken() {
    return files.values().stream().mapToLong(file -> file.bytes.length).sum();
  }

  @Override
  public long room() {
    return full ? 0 : capacity - taken();
  }

  /** The operation after {@code count} others fails, and if it {@code stays}, all later ones. */
  void failAfter(int count, boolean stays) {
    failIn = count;
    failureStays = stays;
  }

  void heal() {
    failIn = Integer.MAX_VALUE;
  }

  int operations() {
    return operations;
  }

  void beforeEachChange(Runnable before) {
    this.before = before;
  }

  private void change() throws IOException {
    before.run();
    operations++;
    if (failIn <= 0) {
      failIn = failureStays ? 0 : Integer.MAX_VALUE;
      throw new IOException("Input/output error");
    }
    failIn = failIn == Integer.MAX_VALUE ? failIn : failIn - 1;
    if (full) {
      throw new IOException("No space left on device");
    }
  }

  /** What is there after the process was killed: everything that was written. */
  StateStoreTestFiles killed() {
    StateStoreTestFiles after = new StateStoreTestFiles();
    files.forEach((name, file) -> after.put(name, file.bytes));
    return after;
  }

  /** What is there after the power was cut: what was forced. */
  StateStoreTestFiles cut() {
    StateStoreTestFiles after = new StateStoreTestFiles();
    forcedNames.forEach((name, file) -> after.put(name, file.forced));
    return after;
  }

  void put(String name, byte[] bytes) {
    File file = new File();
    file.bytes = bytes.clone();
    file.forced = bytes.clone();
    files.put(name, file);
    forcedNames.put(name, file);
  }

  byte[] bytes(String name) {
    return files.get(name).bytes.clone();
  }

  @Override
  public List<String> list() {
    return List.copyOf(files.keySet());
  }

  @Override
  public byte[] read(String name) throws IOException {
    File file = files.get(name);
    if (file == null) {
      throw new IOException(name + ": none");
    }
    return file.bytes.clone();
  }

  @Override
  public StateFileOutput open(String name) throws IOException {
    change();
    File file = files.computeIfAbsent(name, none -> new File());
    return new StateFileOutput() {
      @Override
      public void write(ByteBuffer bytes, long position) throws IOException {
        IOException failed = null;
        int length = bytes.remaining();
        try {
          change();
        } catch (IOException half) {
          failed = half;
          length /= 2; // a part of it is written all the same
        }
        long more = Math.max(0, position + length - file.bytes.length);
        if (failed == null && more > room()) {
          failed = new IOException("No space left on device");
          length = (int) Math.max(0, length - more + room());
        }
        byte[] longer =
            Arrays.copyOf(file.bytes, Math.max(file.bytes.length, (int) position + length));
        bytes.get(longer, (int) position, length);
        file.bytes = longer;
        if (failed != null) {
          throw failed;
        }
      }

      @Override
      public void truncate(long size) throws IOException {
        change();
        file.bytes = Arrays.copyOf(file.bytes, (int) Math.min(size, file.bytes.length));
      }

      @Override
      public void force() throws IOException {
        change();
        file.forced = file.bytes.clone();
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public void rename(String from, String to) throws IOException {
    change();
    File file = files.remove(from);
    if (file == null) {
      throw new IOException(from + ": none");
    }
    files.put(to, file);
  }

  @Override
  public void delete(String name) throws IOException {
    change();
    files.remove(name);
  }

  @Override
  public void forceNames() throws IOException {
    change();
    forcedNames = new TreeMap<>(files);
  }

  @Override
  public void close() {}
}
