package dev.berth.desired;

import dev.berth.code.StartFailedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A directory that is held for the log of a cluster, and in which an instance by itself may have
 * left a journal.
 */
public final class LogDirectory implements AutoCloseable {
  private static final String BEFORE = ".before-cluster";

  /**
   * What an instance by itself has left.
   *
   * @param origin tells it from every other journal
   */
  public record Journal(DesiredState state, String origin) {}

  private final StateStoreDisk disk;

  private LogDirectory(StateStoreDisk disk) {
    this.disk = disk;
  }

  /**
   * Makes the directory when it is not there.
   *
   * @throws StartFailedException when another instance holds it
   */
  public static LogDirectory hold(Path directory) throws IOException {
    StateStoreDisk disk = StateStoreDisk.hold(directory);
    if (disk == null) {
      throw new StartFailedException(
          "berth.state_dir: %s is held by another instance (expected: one for each instance)"
              .formatted(directory));
    }
    return new LogDirectory(disk);
  }

  /** Where the log is. */
  public Path log() {
    return disk.directory().resolve(JournalLog.LOG_OF_A_CLUSTER);
  }

  /** Null when there is none. */
  public @Nullable Journal journal() throws IOException {
    List<String> names = StateStore.journal(disk.list());
    if (names.isEmpty()) {
      return null;
    }
    StateStore store = StateStore.open(disk, StateStore.LEAST_GROWTH);
    store.closeFiles();
    String newest = names.get(names.size() - 1);
    CRC32C crc = new CRC32C();
    crc.update(disk.read(newest));
    return new Journal(
        store.recovered(), String.format(Locale.ROOT, "%s %08x", newest, crc.getValue()));
  }

  /** The log has what was in the journal: it gets other names, the newest last. */
  public void setAside() throws IOException {
    for (String name : StateStore.journal(disk.list())) {
      disk.rename(name, name + BEFORE);
    }
    disk.forceNames();
  }

  /** Bytes that may still be written. */
  public long room() {
    return disk.room();
  }

  /** Gives it back. */
  @Override
  public void close() throws IOException {
    disk.close();
  }
}
