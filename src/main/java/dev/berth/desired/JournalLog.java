package dev.berth.desired;

import dev.berth.code.StartFailedException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.keys.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of a single instance: a journal in a directory that the first requested change creates,
 * or memory.
 *
 * <pre>
 *   ephemeral ---------------------------> memory
 *   no directory --------> none yet --first change--> held
 *   a directory ----------------------------------> held
 *   one that another instance holds ----> refused
 * </pre>
 *
 * <p><b>Failure.</b> A note that cannot be written still applies in this process; the next change
 * is then written together with the whole state.
 */
public final class JournalLog implements StateLog {
  private static final Logger LOG = LoggerFactory.getLogger(JournalLog.class);

  /** Name of a cluster's log directory; a state directory that contains one has no journal. */
  static final String LOG_OF_A_CLUSTER = "log";

  /** Opens and locks a directory; returns null when another instance holds it. */
  @FunctionalInterface
  interface StateDirectoryOpener {
    @Nullable StateStoreFiles hold(Path directory) throws IOException;
  }

  private final boolean ephemeral;
  private final Path directory;
  private final StateDirectoryOpener opener;
  private volatile DesiredState state = DesiredState.EMPTY;
  private @Nullable StateStore journal; // null until the directory is held
  private boolean refused; // another instance holds the directory
  private boolean prepared;

  public JournalLog(Settings options) {
    this(options, StateStoreDisk::hold);
  }

  JournalLog(Settings options, StateDirectoryOpener opener) {
    this.ephemeral = options.get(InstanceOptions.EPHEMERAL);
    this.directory = options.get(InstanceOptions.STATE_DIR);
    this.opener = opener;
  }

  @Override
  public void open() {
    if (ephemeral) {
      return;
    }
    if (!Files.exists(directory)) {
      requireWritableParent();
      return;
    }
    if (Files.exists(directory.resolve(LOG_OF_A_CLUSTER))) {
      throw new StartFailedException(
          "berth.state_dir: %s is the log of a cluster (expected: berth.cluster, or another directory)"
              .formatted(directory.resolve(LOG_OF_A_CLUSTER)));
    }
    try {
      hold();
    } catch (IOException failed) {
      throw new StartFailedException(
          ("berth.state_dir: %s: %s (expected: a readable and writable directory, or --ephemeral)")
              .formatted(directory, StartFailedException.describe(failed)));
    }
    if (journal != null) {
      state = journal.recovered;
    } else {
      LOG.warn(
          "state: {} is in use by another instance: running without it, refusing changes",
          directory);
    }
  }

  /**
   * Checks that the first change will be able to create the directory, so that errors appear at the
   * start.
   */
  private void requireWritableParent() {
    Path there = directory.toAbsolutePath();
    while (!Files.exists(there)) {
      there = there.getParent(); // ends at the root, which exists
    }
    try {
      // permission bits alone prove nothing
      Files.delete(Files.createTempDirectory(there, "berth-"));
    } catch (IOException failed) {
      throw new StartFailedException(
          "berth.state_dir: %s cannot be created in %s: %s (expected: a writable directory, or --ephemeral)"
              .formatted(directory, there, StartFailedException.describe(failed)));
    }
  }

  private void hold() throws IOException {
    StateStoreFiles files = opener.hold(directory);
    refused = files == null;
    if (files != null) {
      try {
        journal = new StateStore(files, StateStore.MIN_GROWTH_BYTES);
      } catch (IOException | RuntimeException | Error failed) {
        try {
          files.close();
        } catch (IOException second) {
          failed.addSuppressed(second);
        }
        throw failed;
      }
    }
  }

  @Override
  public DesiredState state() {
    return state;
  }

  @Override
  public boolean isKept() {
    return journal != null && journal.isUsed();
  }

  @Override
  public boolean isFull() {
    return journal != null && journal.isFull();
  }

  @Override
  public @Nullable Path directory() {
    return ephemeral || refused ? null : directory;
  }

  @Override
  public void prepare() throws IOException {
    if (ephemeral) {
      return;
    }
    String what = "is in use by another instance";
    if (journal == null) {
      hold();
      if (isKept()) {
        close();
        journal = null;
        what = "was created by another instance meanwhile";
      }
    }
    if (journal == null) {
      throw new IOException(
          "berth.state_dir: %s %s (expected: one per instance)".formatted(directory, what));
    }
    if (!prepared && !isKept()) {
      LOG.info("state: stored in {}", directory);
    }
    prepared = true;
  }

  @Override
  public @Nullable DesiredState propose(DesiredChange change) throws IOException {
    if (change.index() != state.index() + 1) {
      return null;
    }
    if (journal != null && (prepared || isKept())) {
      journal.append(change, state);
    }
    return apply(change);
  }

  @Override
  public DesiredState note(String what, DesiredChange change) {
    try {
      if (journal != null && isKept()) {
        journal.append(change, state);
      }
    } catch (IOException failed) {
      LOG.warn("state: {}: not stored: {}", what, failed.toString());
    }
    return apply(change);
  }

  private DesiredState apply(DesiredChange change) {
    DesiredState next = state.with(List.of(change));
    state = next;
    return next;
  }

  @Override
  public void close() {
    try {
      if (journal != null) {
        journal.close();
      }
    } catch (IOException failed) {
      LOG.warn("state: {} not closed: {}", directory, failed.toString());
    }
  }
}
