package dev.berth.desired;

import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigException;
import dev.berth.config.keys.Problem;
import dev.berth.desired.EntryReader.Reading;
import dev.berth.desired.ServeControl.Command;
import dev.berth.desired.ServeControl.Decision;
import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a command is computed on what is declared, committed, and read again. Off the loop, one after
 * the other.
 *
 * @param fails whether who is a node could not be kept, which is logged once
 */
record Commits(StateLog log, KeptJars jars, EntryReader reader, AtomicBoolean fails) {
  private static final Logger LOG = LoggerFactory.getLogger(Commits.class);

  /** How often a command is computed anew, since another change was committed meanwhile. */
  static final int MOST_TRIES = 8;

  /**
   * A command that was carried out off the loop.
   *
   * @param on the state that it was computed on
   * @param state from then on
   * @param read what can be read of it anew
   */
  record Committed(
      Decision decision, DesiredState on, DesiredState state, Map<String, Reading> read) {}

  /** A change is to be kept; whoever keeps jars for it asks before that. */
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
   * @param running copies of jars that code may be loaded from; null when that is not known
   * @param read what was read before, by application
   * @throws CommandRefused when it is not kept, or not known to be
   */
  Committed carryOut(Command command, @Nullable Set<Path> running, Map<String, Reading> read) {
    jars.begin(running);
    Committed done = commit(on -> command.on(on).chained(on), false);
    return committed(done.decision, done.on, done.state, read);
  }

  /**
   * Commits who is a node, possibly while a command is carried out, which is computed again then.
   */
  NodeRegistry nodes(UnaryOperator<NodeRegistry> change) {
    return commit(on -> new Decision(on.nodes(change.apply(on.nodes())), List.of()), true)
        .state
        .nodes();
  }

  /**
   * @param repeated it is tried again when it fails: each sweep commits a loss
   */
  private Committed commit(Command command, boolean repeated) {
    try {
      for (int tries = 0; tries < MOST_TRIES; tries++) {
        Committed done = tries < MOST_TRIES / 2 ? attempt(command) : attemptAlone(command);
        if (done != null) {
          return done;
        }
      }
    } catch (ConfigException refused) {
      throw new CommandRefused(
          Kind.INVALID, refused.problems().stream().map(Problem::toString).toList());
    } catch (Undecided late) {
      LOG.error("state: it is not known whether a command is kept: {}", late.getMessage());
      throw new CommandRefused(
          Kind.UNAVAILABLE,
          "may be kept yet: %s (expected: that it is asked again with the same Idempotency-Key)"
              .formatted(late.getMessage()));
    } catch (IOException failed) {
      if (!repeated || !fails.getAndSet(true)) {
        LOG.error("state: a command is refused, since it cannot be kept: {}", failed.toString());
      }
      String why = "cannot be kept: " + StartFailedException.describe(failed);
      throw new CommandRefused(
          Kind.UNAVAILABLE,
          why + " (expected: a state_dir that can be written, or berth.ephemeral)");
    }
    throw new CommandRefused(
        Kind.UNAVAILABLE,
        "others change what is declared all the while (expected: less of them, try again)");
  }

  private @Nullable Committed attempt(Command command) throws IOException {
    DesiredState on = log.state();
    Decision decision = command.on(on);
    DesiredChange change = decision.change();
    DesiredState next = change == null ? on : propose(change);
    if (next != null && change != null) {
      fails.set(false);
    }
    return next == null ? null : new Committed(decision, on, next, Map.of());
  }

  /** Nothing else is committed meanwhile: nodes that come one after the other never let it pass. */
  private @Nullable Committed attemptAlone(Command command) throws IOException {
    synchronized (log) {
      return attempt(command);
    }
  }

  /** Null when it is to be computed anew: what ran earlier gave way meanwhile. */
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
    } catch (Undecided late) {
      throw late;
    } catch (IOException failed) {
      DesiredState kept = isOfNodes ? noted(change) : null;
      if (kept != null) {
        return kept; // it takes the room of what is noted: else nobody lost would be made up for
      }
      if (isOfNodes || !log.isFull() || !jars.makeRoom()) {
        throw failed;
      }
      while (log.isFull() && jars.makeRoom()) {}
      return null;
    }
  }

  private Committed committed(
      Decision decision, DesiredState on, DesiredState next, Map<String, Reading> read) {
    return new Committed(
        decision, on, next, reader.readAnew(next.applications(), decision.read(), read));
  }

  private @Nullable DesiredState noted(DesiredChange nodes) {
    synchronized (log) {
      return log.note("who is a node", nodes);
    }
  }

  /** Of one that may be lost; it is known by its decision, which is then {@code NOTHING}. */
  Committed note(
      String what, Function<DesiredState, Decision> decision, Map<String, Reading> read) {
    synchronized (log) { // nothing else is committed between
      DesiredState on = log.state();
      Decision decided = decision.apply(on);
      DesiredChange change = decided.change();
      DesiredState next = change == null ? on : log.note(what, change);
      return next == null
          ? committed(ServeControl.NOTHING, log.state(), log.state(), read)
          : committed(decided, on, next, read);
    }
  }
}
