package dev.berth.replica;

import org.jspecify.annotations.Nullable;

/**
 * What runs on cancel, linked into a list from which any may be taken: children come and go in any
 * order. The list is known by its newest. Belongs to the replica's loop.
 */
final class CancelAction {
  final Runnable task;
  final @Nullable Runnable whenEnded; // runs when the request ends with this in the list
  @Nullable CancelAction before; // newer
  private @Nullable CancelAction after;
  boolean linked;

  CancelAction(Runnable task, @Nullable Runnable whenEnded) {
    this.task = task;
    this.whenEnded = whenEnded;
  }

  /** Becomes the newest. */
  void linkBefore(@Nullable CancelAction newest) {
    after = newest;
    if (newest != null) {
      newest.before = this;
    }
    linked = true;
  }

  /** Leaves; what is the newest then. */
  @Nullable CancelAction unlinkFrom(@Nullable CancelAction newest) {
    linked = false;
    if (after != null) {
      after.before = before;
    }
    if (before == null) {
      return after;
    }
    before.after = after;
    return newest;
  }

  CancelAction oldest() {
    CancelAction oldest = this;
    while (oldest.after != null) {
      oldest = oldest.after;
    }
    return oldest;
  }
}
