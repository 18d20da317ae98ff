package dev.berth.node.loops;

import dev.berth.protocol.BusMessage;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Queue of the messages to one address of this instance, drained by its event loop. Messages of one
 * sender keep their order and never run on the sender's stack. One task of the loop, or the end of
 * a {@link LoopTurn}, runs all messages that arrived meanwhile.
 *
 * <p><b>Concurrency.</b> Messages from the own loop need no synchronization and have their own
 * queue. Each message runs in its own context, as on the event bus: values that a handler stores in
 * its context are invisible to the next request.
 *
 * <p><b>Bound.</b> The senders limit the queue: pending tables and slots limit requests, and credit
 * limits body chunks.
 */
public final class LoopMailbox {
  /** Maximum messages of one task; then other tasks of the loop come first. */
  public static final int MAX_BATCH = 256;

  private final ContextInternal home;
  private final LoopTurn turn;
  private final ContextInternal shared; // until the receiver enters the context of the request
  private final Consumer<BusMessage> receiver;
  private final Runnable drainOwn;
  private final Runnable drainBatch = this::drainBatch;
  private final Runnable drainOthers;

  // Confined to the loop.
  private final ArrayDeque<BusMessage> own = new ArrayDeque<>();
  private boolean ownScheduled;

  private final Queue<BusMessage> others = new ConcurrentLinkedQueue<>();
  private final AtomicInteger othersWaiting = new AtomicInteger();

  /**
   * @param home context of the loop
   * @param turn turn of the loop
   * @param receiver called on the loop
   */
  public LoopMailbox(ContextInternal home, LoopTurn turn, Consumer<BusMessage> receiver) {
    this.home = home;
    this.turn = turn;
    this.shared = home.duplicate();
    this.receiver = receiver;
    this.drainOwn = turn.of(this::drainOwn);
    this.drainOthers = turn.of(this::drainOthers);
  }

  /** Enqueues a message. Thread-safe. */
  public void put(BusMessage message) {
    if (home.inThread()) {
      own.add(message);
      if (!ownScheduled) {
        ownScheduled = true;
        home.nettyEventLoop().execute(drainOwn);
      }
      if (own.size() == LoopTurn.BATCH) {
        turn.drain(drainBatch);
      }
      return;
    }
    others.add(message);
    if (othersWaiting.getAndIncrement() == 0) { // else a task is scheduled
      home.nettyEventLoop().execute(drainOthers);
    }
  }

  /** Runs a task on the loop, after the earlier tasks. Thread-safe. */
  public void run(Consumer<Consumer<BusMessage>> task) {
    home.nettyEventLoop().execute(turn.of(() -> task.accept(this::deliver)));
  }

  private void drainBatch() {
    for (int left = own.size(); left > 0; left--) {
      deliver(own.remove());
    }
  }

  private void drainOwn() {
    for (int taken = 0; taken < MAX_BATCH; taken++) {
      BusMessage message = own.poll();
      if (message == null) {
        ownScheduled = false;
        return;
      }
      deliver(message);
    }
    home.nettyEventLoop().execute(drainOwn);
  }

  private void drainOthers() {
    int taken = Math.min(MAX_BATCH, othersWaiting.get()); // counted after they are enqueued
    for (int i = 0; i < taken; i++) {
      deliver(Objects.requireNonNull(others.poll()));
    }
    if (othersWaiting.addAndGet(-taken) != 0) {
      home.nettyEventLoop().execute(drainOthers);
    }
  }

  private void deliver(BusMessage message) {
    ContextInternal context = getsContext(message) ? shared : home.duplicate();
    ContextInternal before = context.beginDispatch();
    try {
      receiver.accept(message);
    } catch (Throwable broken) { // a failed message must not stop the others
      context.reportException(broken);
    } finally {
      context.endDispatch(before);
    }
  }

  /** Returns whether the receiver enters the request's own context before any user code runs. */
  private static boolean getsContext(BusMessage message) {
    return message instanceof BusMessage.CallRequest
        || message instanceof BusMessage.CallResponse
        || message instanceof BusMessage.StreamFrame
        || message instanceof BusMessage.RequestFrame;
  }
}
