package dev.berth.desired;

import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.desired.EntryReader.EntryReadResult;
import dev.berth.desired.ServeControl.CommandDecision;
import dev.berth.desired.ServeControl.StateCommand;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes commands on the desired state, commits their changes and reads the changed entries. Runs
 * off the loop, one command at a time.
 *
 * @param fails whether the last node registration could not be persisted, which is logged once
 * @param notStored changes that could not be persisted
 */
record CommandCommitter(
    StateLog log,
    DeclaredJarStore jars,
    EntryReader reader,
    AtomicBoolean fails,
    LongAdder notStored) {
  private static final Logger LOG = LoggerFactory.getLogger(CommandCommitter.class);

  /** Maximum number of attempts of a command, which is recomputed after each concurrent commit. */
  static final int MAX_TRIES = 8;

  /**
   * The result of a command that was committed off the loop.
   *
   * @param on state that the command was computed on
   * @param state state after the command
   * @param read entries of it that were read again
   */
  record CommittedCommand(
      CommandDecision decision,
      DesiredState on,
      DesiredState state,
      Map<String, EntryReadResult> read) {}

  /** Prepares the log and the jars for a change. A command that stores jars calls it first. */
  void prepare() throws IOException {
    prepareLog();
    jars.prepare();
  }

  private void prepareLog() throws IOException {
    synchronized (log) {
      log.prepare();
    }
  }

  /**
   * Computes and commits a command.
   *
   * @param running copies of jars that code may be loaded from; null when unknown
   * @param read entries that were read before, by application
   * @throws CommandRejectedException when it is not persisted, or its outcome is unknown
   */
  CommittedCommand carryOut(
      StateCommand command, @Nullable Set<Path> running, Map<String, EntryReadResult> read) {
    jars.begin(running);
    CommittedCommand done = commit(on -> command.on(on).chained(on), false);
    return withEntriesRead(done.decision, done.on, done.state, read);
  }

  /** Commits a change of the node registry, possibly beside a command, which is then recomputed. */
  NodeRegistry nodes(UnaryOperator<NodeRegistry> change) {
    return commit(on -> new CommandDecision(on.nodes(change.apply(on.nodes())), List.of()), true)
        .state
        .nodes();
  }

  /**
   * Commits a command, with retries after concurrent commits.
   *
   * @param repeated whether the caller repeats the command after a failure: each sweep commits a
   *     loss
   */
  private CommittedCommand commit(StateCommand command, boolean repeated) {
    try {
      for (int tries = 0; tries < MAX_TRIES; tries++) {
        CommittedCommand done = tries < MAX_TRIES / 2 ? attempt(command) : attemptAlone(command);
        if (done != null) {
          return done;
        }
      }
    } catch (ConfigException refused) {
      throw new CommandRejectedException(
          CommandRejectionReason.INVALID,
          refused.problems().stream().map(ConfigProblem::toString).toList());
    } catch (CommitOutcomeUnknownException late) {
      LOG.error("state: command: outcome unknown: {}", late.getMessage());
      throw CommandRejectedException.unavailable(
          "outcome unknown: %s (expected: retry with the same Idempotency-Key)", late.getMessage());
    } catch (IOException failed) {
      notStored.increment();
      if (!repeated || !fails.getAndSet(true)) {
        LOG.error("state: command: not stored: refused: {}", failed.toString());
      }
      String why = "cannot be stored: " + StartFailedException.describe(failed);
      throw CommandRejectedException.unavailable(
          "%s (expected: a writable state_dir, or berth.ephemeral)", why);
    }
    throw CommandRejectedException.unavailable(
        "the declared state keeps changing (expected: fewer changes; try again)");
  }

  private @Nullable CommittedCommand attempt(StateCommand command) throws IOException {
    DesiredState on = log.state();
    CommandDecision decision = command.on(on);
    DesiredChange change = decision.change();
    DesiredState next = change == null ? on : propose(change);
    if (next != null && change != null) {
      fails.set(false);
    }
    return next == null ? null : new CommittedCommand(decision, on, next, Map.of());
  }

  /**
   * Attempts a command while no other change is committed: a steady series of joining nodes would
   * otherwise starve it.
   */
  private @Nullable CommittedCommand attemptAlone(StateCommand command) throws IOException {
    synchronized (log) {
      return attempt(command);
    }
  }

  /**
   * Returns null when the command must be recomputed, as earlier revisions were removed meanwhile.
   */
  private @Nullable DesiredState propose(DesiredChange change) throws IOException {
    boolean isOfNodes = change.nodes() != null;
    if (isOfNodes) {
      prepareLog();
    } else {
      prepare();
    }
    try {
      synchronized (log) { // one caller at a time
        return log.propose(change);
      }
    } catch (CommitOutcomeUnknownException late) {
      throw late;
    } catch (IOException failed) {
      DesiredState kept = isOfNodes ? noteNodes(change) : null;
      if (kept != null) {
        return kept; // may use the reserve of notes: otherwise no lost node would be replaced
      }
      if (isOfNodes || !log.isFull() || !jars.makeRoom()) {
        throw failed;
      }
      while (log.isFull() && jars.makeRoom()) {}
      return null;
    }
  }

  private CommittedCommand withEntriesRead(
      CommandDecision decision,
      DesiredState on,
      DesiredState next,
      Map<String, EntryReadResult> read) {
    return new CommittedCommand(
        decision, on, next, reader.readAnew(next.applications(), decision.read(), read));
  }

  private @Nullable DesiredState noteNodes(DesiredChange nodes) {
    synchronized (log) {
      return log.note("node registry", nodes);
    }
  }

  /**
   * Commits a change whose loss does no harm. After a failure the decision of the result is {@code
   * NOTHING}.
   */
  CommittedCommand note(
      String what,
      Function<DesiredState, CommandDecision> decision,
      Map<String, EntryReadResult> read) {
    synchronized (log) { // excludes commits in between
      DesiredState on = log.state();
      CommandDecision decided = decision.apply(on);
      DesiredChange change = decided.change();
      DesiredState next = change == null ? on : log.note(what, change);
      return next == null
          ? withEntriesRead(ServeControl.NOTHING, log.state(), log.state(), read)
          : withEntriesRead(decided, on, next, read);
    }
  }
}
