package dev.berth.desired;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The log of the {@link DesiredState}. A change is proposed, then committed, so that no crash can
 * revert it, then applied: another state replaces the previous one. A proposal names the state that
 * it was computed on. When that state is outdated nothing happens, and the caller computes the
 * change again.
 *
 * <p>Implementations are a journal on one disk ({@link JournalLog}) and a log that several nodes
 * agree on.
 *
 * <p><b>Concurrency.</b> Methods may block and need one caller at a time, except {@link #state}.
 */
public interface StateLog {

  /**
   * Recovers the committed changes; called once, before all other methods. Returns when changes can
   * be proposed: in a replicated log, when this node is its leader.
   *
   * @throws dev.berth.code.StartFailedException when the log exists and cannot be read
   */
  void open();

  /** Returns the applied state. Thread-safe. */
  DesiredState state();

  /** Returns whether a restart would recover the applied state. */
  boolean isKept();

  /** Returns whether the disk may be too full for a change. */
  boolean isFull();

  /** Returns the directory of the log; null for a log in memory. */
  @Nullable Path directory();

  /**
   * Prepares the log for a change that must be persisted.
   *
   * @throws IOException when it could not be persisted; nothing has changed then
   */
  void prepare() throws IOException;

  /**
   * Commits a change and applies it.
   *
   * @return the resulting state; null when the change was computed on an outdated one
   * @throws CommitOutcomeUnknownException when the outcome is unknown
   * @throws IOException when it is not committed; a later one may be
   */
  @Nullable DesiredState propose(DesiredChange change) throws IOException;

  /**
   * Commits a change as {@link #propose}, for notes of the instance whose loss does no harm. A note
   * is persisted if the present state is. Failures are logged.
   *
   * @param what content of the note, for people
   * @return the resulting state; null when the change is not in it and must be repeated
   */
  @Nullable DesiredState note(String what, DesiredChange change);

  /** Closes the log and unlocks its directory. */
  void close();
}
