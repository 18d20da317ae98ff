package dev.berth.replica;

import org.jspecify.annotations.Nullable;

/**
 * An action to run on cancel, as an entry of a linked list from which entries leave in any order.
 * The list is referenced by its newest entry. Confined to the replica's loop.
 */
final class CancelAction {
  final Runnable task;
  final @Nullable Runnable whenEnded; // runs if the request ends with this in the list
  @Nullable CancelAction before; // the next newer entry
  private @Nullable CancelAction after;
  boolean linked;

  CancelAction(Runnable task, @Nullable Runnable whenEnded) {
    this.task = task;
    this.whenEnded = whenEnded;
  }

  /** Adds this entry as the newest. */
  void linkBefore(@Nullable CancelAction newest) {
    after = newest;
    if (newest != null) {
      newest.before = this;
    }
    linked = true;
  }

  /** Removes this entry. Returns the newest entry after that. */
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
