package dev.berth.node.loops;

import java.util.ArrayDeque;

/**
 * The handling of one event of a socket, or one task of mailboxes, by an event loop. A loop with
 * many connections reads all of their requests before it runs a task, and by then their data have
 * left the processor's caches. So the end of a turn runs a full batch of messages that the loop has
 * sent to itself. Confined to the loop.
 */
public final class LoopTurn {
  /**
   * Messages that a loop sends to itself before the end of a turn runs them. With a batch of 16 or
   * of one, the code of each step leaves the caches instead (decision 0042).
   */
  static final int BATCH = 64;

  /** Mailboxes that one turn drains. A request needs two; the tasks of the others drain them. */
  private static final int MAX_DRAINS = 8;

  private final ArrayDeque<Runnable> drains = new ArrayDeque<>();
  private boolean open;

  /** Begins a turn. Returns false within a turn; its beginner alone ends it. */
  boolean begin() {
    boolean begins = !open;
    open = true;
    return begins;
  }

  /**
   * Plans the drain of a full mailbox at the end of the turn. Without a turn, its task drains it.
   */
  void drain(Runnable mailbox) {
    if (open) {
      drains.add(mailbox);
    }
  }

  /** Returns a step that is a turn of its own, or a part of the turn that runs it. */
  Runnable of(Runnable step) {
    return () -> {
      boolean begins = begin();
      try {
        step.run();
      } finally {
        if (begins) {
          end();
        }
      }
    };
  }

  /** Ends the turn, and first drains the full mailboxes. */
  void end() {
    for (int drained = 0; drained < MAX_DRAINS && !drains.isEmpty(); drained++) {
      drains.remove().run();
    }
    drains.clear();
    open = false;
  }
}
