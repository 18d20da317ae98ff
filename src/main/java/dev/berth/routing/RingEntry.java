package dev.berth.routing;

import org.jspecify.annotations.Nullable;

/** Something with a deadline, linked into a {@link DeadlineRing} without an object of its own. */
public abstract class RingEntry {
  /** Of what may take for ever. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  long deadlineNanos;
  @Nullable RingEntry before; // in its bucket
  @Nullable RingEntry after;
  int bucket = -1; // -1: not scheduled

  /** The deadline passed; called once per schedule, on the ring's loop, already unlinked. */
  protected abstract void deadlinePassed(long now);
}
