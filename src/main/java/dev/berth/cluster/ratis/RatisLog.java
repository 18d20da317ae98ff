package dev.berth.cluster.ratis;

import dev.berth.code.StartFailedException;
import dev.berth.desired.ConsensusEngine.ConsensusOptions;
import dev.berth.desired.DesiredChange;
import dev.berth.desired.DesiredState;
import dev.berth.desired.LogDirectory;
import dev.berth.desired.LogDirectory.Journal;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.StateLog;
import dev.berth.net.tls.TlsFileException;
import io.vertx.core.Context;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.ratis.util.ExitUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of a cluster with one control node: a group of one server, which is the leader when
 * {@link #open} returns.
 *
 * <pre>
 *   open: directory held -> journal read -> leader -> first entry, if none -> journal set aside
 * </pre>
 *
 * The first entry contains the cluster's id and the whole content of a journal. A crash before its
 * commit leaves the journal unchanged; the start after a crash that follows the commit sets the
 * journal aside.
 */
final class RatisLog implements StateLog {
  private static final Logger LOG = LoggerFactory.getLogger(RatisLog.class);

  /** Timeout of a proposal in seconds, after which its outcome is unknown. */
  static final long PROPOSAL_S = 3;

  /** Timeout of the first entry in seconds. This entry may be large. */
  private static final long FIRST_ENTRY_S = 30;

  /**
   * Minimum free space for a command, in bytes. Data of earlier revisions is removed before the log
   * fails.
   */
  static final long MIN_FREE_BYTES = 16L << 20;

  /**
   * Minimum free space for any entry, in bytes. Removals of earlier data are recorded in the space
   * between the two minimums. The log is not opened below this minimum. If Ratis can create the
   * file of its term but not write it, the term is lost.
   */
  static final long MIN_FREE_BYTES_FOR_NOTES = 4L << 20;

  private static final String NATIVES = "-Dorg.apache.ratis.thirdparty.io.netty.native.workdir=DIR";

  private final ConsensusOptions options;
  private final ToLongFunction<LogDirectory> room; // returns the free bytes
  private @Nullable LogDirectory directory; // null unless open
  private volatile @Nullable RatisServer server; // the last leader

  RatisLog(ConsensusOptions options, ToLongFunction<LogDirectory> room) {
    this.options = options;
    this.room = room;
  }

  @Override
  public void open() {
    requireOffLoop();
    try {
      begin();
    } catch (IOException | RuntimeException | LinkageError failed) {
      close();
      throw failed instanceof StartFailedException ? (StartFailedException) failed : why(failed);
    }
    String id = state().nodes().cluster();
    LOG.info("state: of cluster {}, id {}, in {}", options.cluster(), id, requireDirectory().log());
  }

  private void begin() throws IOException {
    LogDirectory held = LogDirectory.hold(options.directory());
    directory = held;
    requireOneCluster(held.log());
    requireRoom(MIN_FREE_BYTES_FOR_NOTES);
    checkFiles();
    Journal journal = held.journal();
    RatisServer leading = RatisServer.start(options, held.log());
    server = leading;
    if (leading.state().index() == 0) {
      proposeFirst(leading, journal);
    }
    if (journal != null) {
      if (!journal.origin().equals(leading.state().nodes().origin())) {
        throw new StartFailedException(
            "berth.state_dir: %s has a journal, and cluster %s began without it (expected: only one of them; another directory)"
                .formatted(options.directory(), options.cluster()));
      }
      held.setAside();
    }
  }

  /** Checks the files before each opening, because Ratis truncates a damaged file. */
  private void checkFiles() throws IOException {
    LogFiles.check(
        requireDirectory().log().resolve(RatisServer.group(options.cluster()).toString()));
  }

  private void requireOneCluster(Path log) throws IOException {
    Files.createDirectories(log);
    LogFiles.requireWritable(log);
    String own = RatisServer.group(options.cluster()).toString();
    try (Stream<Path> others = Files.list(log)) {
      if (others.anyMatch(each -> !each.getFileName().toString().equals(own))) {
        throw new StartFailedException(
            "berth.cluster.name: %s, and %s is the log of another (expected: its name, or another directory)"
                .formatted(options.cluster(), log));
      }
    }
  }

  private void proposeFirst(RatisServer leading, @Nullable Journal journal) throws IOException {
    DesiredState kept = journal == null ? DesiredState.EMPTY : journal.state();
    String origin = journal == null ? "" : journal.origin();
    DesiredChange born =
        Objects.requireNonNull(kept.nodes(NodeRegistry.born(options.newId(), origin)));
    leading.propose(kept.with(List.of(born)).whole(), FIRST_ENTRY_S);
  }

  private StartFailedException why(Throwable failed) {
    if (failed instanceof TlsFileException) {
      return new StartFailedException(failed.getMessage());
    }
    String key = "berth.state_dir: " + options.directory();
    String expected = "a writable directory, with a complete log of this cluster and node";
    for (Throwable each = failed; each != null; each = each.getCause()) {
      if (each instanceof ExitUtils.ExitException) {
        key = "berth.cluster.ports.consensus: %s:%s".formatted(options.host(), options.port());
        expected = "a free port of this machine";
      } else if (each instanceof LinkageError) {
        key = "berth.cluster.tls";
        expected = "a temporary folder from which code can be loaded; " + NATIVES;
      }
    }
    return new StartFailedException(
        "%s: %s (expected: %s)".formatted(key, StartFailedException.describe(failed), expected));
  }

  private static void requireOffLoop() {
    if (Context.isOnEventLoopThread()) {
      throw new IllegalStateException("an event loop (expected: a thread that may block)");
    }
  }

  private void requireRoom(long least) throws IOException {
    long free = room.applyAsLong(requireDirectory());
    if (free < least) {
      throw new IOException("%s bytes are free, of %s required".formatted(free, least));
    }
  }

  private LogDirectory requireDirectory() {
    return Objects.requireNonNull(directory, "state: not open (expected: open)");
  }

  private RatisServer server() {
    return Objects.requireNonNull(server, "state: not open (expected: open)");
  }

  @Override
  public DesiredState state() {
    RatisServer last = server;
    return last == null ? DesiredState.EMPTY : last.state();
  }

  @Override
  public boolean isKept() {
    return true;
  }

  @Override
  public boolean isFull() {
    return room.applyAsLong(requireDirectory()) < MIN_FREE_BYTES;
  }

  @Override
  public Path directory() {
    return options.directory();
  }

  /** Replaces a broken server by a new one, which has all acknowledged entries and continues. */
  @Override
  public void prepare() throws IOException {
    requireOffLoop();
    RatisServer last = server();
    Throwable failure = last.failure();
    if (failure == null) {
      return;
    }
    requireRoom(MIN_FREE_BYTES_FOR_NOTES);
    LOG.warn("state: reopening the log: {}", failure.toString());
    last.close();
    try {
      checkFiles();
    } catch (StartFailedException damaged) {
      throw new IOException(damaged.getMessage(), damaged);
    }
    server = RatisServer.start(options, requireDirectory().log());
  }

  @Override
  public @Nullable DesiredState propose(DesiredChange change) throws IOException {
    return propose(change, MIN_FREE_BYTES);
  }

  @Override
  public @Nullable DesiredState note(String what, DesiredChange change) {
    try {
      return propose(change, MIN_FREE_BYTES_FOR_NOTES);
    } catch (IOException failed) {
      LOG.warn("state: {}: not stored: {}", what, failed.toString());
      return null;
    }
  }

  private @Nullable DesiredState propose(DesiredChange change, long leastRoom) throws IOException {
    requireOffLoop();
    RatisServer leading = server();
    Throwable failure = leading.failure();
    if (failure != null) {
      throw new IOException("the log is not writable: " + failure);
    }
    requireRoom(leastRoom);
    return leading.propose(change, PROPOSAL_S) ? leading.state() : null;
  }

  @Override
  public void close() {
    RatisServer last = server;
    if (last != null) {
      last.close();
    }
    try {
      if (directory != null) {
        directory.close();
      }
    } catch (IOException failed) {
      LOG.warn("state: {} not closed: {}", options.directory(), failed.toString());
    }
  }
}
