package dev.berth.desired;

import dev.berth.code.StartFailedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A locked directory for the log of a cluster. It may contain the journal of an earlier single
 * instance.
 */
public final class LogDirectory implements AutoCloseable {
  private static final String BEFORE = ".before-cluster";

  /**
   * The state of a single instance's journal.
   *
   * @param origin identity that distinguishes it from every other journal
   */
  public record Journal(DesiredState state, String origin) {}

  private final StateStoreDisk disk;

  private LogDirectory(StateStoreDisk disk) {
    this.disk = disk;
  }

  /**
   * Creates the directory when it is missing, and locks it.
   *
   * @throws StartFailedException when another instance holds it
   */
  public static LogDirectory hold(Path directory) throws IOException {
    StateStoreDisk disk = StateStoreDisk.hold(directory);
    if (disk == null) {
      throw new StartFailedException(
          "berth.state_dir: %s is in use by another instance (expected: one per instance)"
              .formatted(directory));
    }
    return new LogDirectory(disk);
  }

  /** Returns the path of the log. */
  public Path log() {
    return disk.directory().resolve(JournalLog.LOG_OF_A_CLUSTER);
  }

  /** Reads the journal; returns null when there is none. */
  public @Nullable Journal journal() throws IOException {
    List<String> names = StateStore.journal(disk.list());
    if (names.isEmpty()) {
      return null;
    }
    StateStore store = new StateStore(disk, StateStore.MIN_GROWTH_BYTES);
    store.closeFiles();
    String newest = names.get(names.size() - 1);
    CRC32C crc = new CRC32C();
    crc.update(disk.read(newest));
    return new Journal(
        store.recovered, String.format(Locale.ROOT, "%s %08x", newest, crc.getValue()));
  }

  /** Renames the files of the journal, the newest last, once the log contains its state. */
  public void setAside() throws IOException {
    for (String name : StateStore.journal(disk.list())) {
      disk.rename(name, name + BEFORE);
    }
    disk.forceNames();
  }

  /** Returns the free bytes of the disk. */
  public long room() {
    return disk.room();
  }

  /** Unlocks the directory. */
  @Override
  public void close() throws IOException {
    disk.close();
  }
}
