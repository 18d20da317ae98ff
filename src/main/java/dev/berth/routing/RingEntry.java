package dev.berth.routing;

import org.jspecify.annotations.Nullable;

/** An object with a deadline, linked into a {@link DeadlineRing} without an extra link object. */
public abstract class RingEntry {
  /** Deadline of an operation without a time limit. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  long deadlineNanos;
  @Nullable RingEntry before; // neighbour in the bucket
  @Nullable RingEntry after;
  int bucket = -1; // -1 while not scheduled

  /** Handles a passed deadline. Called once per schedule, on the ring's loop, after the unlink. */
  protected abstract void deadlinePassed(long now);
}
