package dev.berth.desired;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What has become of the {@link DesiredState}: a change is proposed, then committed, so that no
 * crash takes it back, then applied: another state takes the place of the one before. What is
 * proposed names the state that it was computed on; when that is not the last any more nothing
 * happens, and who proposed it computes anew. May block; one caller at a time, but for {@link
 * #state}.
 *
 * <p>A journal on one disk is one ({@link JournalLog}); a log that several nodes agree on is
 * another.
 */
public interface StateLog {

  /**
   * Finds out what was committed earlier; once, before everything else. It ends when changes can be
   * proposed: of several who share a log, when this one leads them.
   *
   * @throws dev.berth.code.StartFailedException when it is there and cannot be read
   */
  void open();

  /** What is applied. Any thread. */
  DesiredState state();

  /** Whether a start would find what is applied. */
  boolean isKept();

  /** Whether there may be no room for a change. */
  boolean isFull();

  /** Where it is kept; null when it is not. */
  @Nullable Path directory();

  /**
   * Somebody is about to propose a change, which is to be kept.
   *
   * @throws IOException when it could not be; nothing is different then
   */
  void prepare() throws IOException;

  /**
   * Commits a change, and applies it.
   *
   * @return the state from then on; null when the change was computed on another than the last
   * @throws Undecided when it may be committed yet
   * @throws IOException when it is not committed; a later one may be
   */
  @Nullable DesiredState propose(DesiredChange change) throws IOException;

  /**
   * As {@link #propose}, for what the instance notes by itself, and whose loss does no harm: it is
   * kept if anything is, and what fails is logged.
   *
   * @param what it says, for people
   * @return the state from then on; null when the change is not in it: it is to be said again
   */
  @Nullable DesiredState note(String what, DesiredChange change);

  /** Gives back what it holds. */
  void close();
}
