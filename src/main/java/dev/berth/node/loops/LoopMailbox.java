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
 * What is sent to one address of this instance, until its event loop takes it: in the order of each
 * sender, never on the sender's stack, one task of the loop for all that came meanwhile.
 *
 * <p>Messages of its own loop need no synchronization and have a queue of their own. A message runs
 * in a context of its own, as it would when the event bus brought it: what a handler keeps in its
 * context is not seen by the next request.
 *
 * <p>Bounded by what sends: requests by the pending tables and slots, pieces of bodies by credit.
 */
public final class LoopMailbox {
  /** Messages of one task: then what else the loop has to do comes first. */
  public static final int MAX_BATCH = 256;

  private final ContextInternal home;
  private final ContextInternal shared; // until the receiver enters that of the request
  private final Consumer<BusMessage> receiver;
  private final Runnable drainOwn = this::drainOwn;
  private final Runnable drainOthers = this::drainOthers;

  // Confined to the loop.
  private final ArrayDeque<BusMessage> own = new ArrayDeque<>();
  private boolean ownScheduled;

  private final Queue<BusMessage> others = new ConcurrentLinkedQueue<>();
  private final AtomicInteger othersWaiting = new AtomicInteger();

  /**
   * @param home the loop's context
   * @param receiver called on the loop
   */
  public LoopMailbox(ContextInternal home, Consumer<BusMessage> receiver) {
    this.home = home;
    this.shared = home.duplicate();
    this.receiver = receiver;
  }

  /** Any thread. */
  public void put(BusMessage message) {
    if (home.inThread()) {
      own.add(message);
      if (!ownScheduled) {
        ownScheduled = true;
        home.nettyEventLoop().execute(drainOwn);
      }
      return;
    }
    others.add(message);
    if (othersWaiting.getAndIncrement() == 0) { // else a task is on its way
      home.nettyEventLoop().execute(drainOthers);
    }
  }

  /** Runs a task on the loop, after those that came before. Any thread. */
  public void run(Consumer<Consumer<BusMessage>> task) {
    home.nettyEventLoop().execute(() -> task.accept(this::deliver));
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
    int taken = Math.min(MAX_BATCH, othersWaiting.get()); // they are counted once they are in
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
    } catch (Throwable broken) { // one message must not take the others with it
      context.reportException(broken);
    } finally {
      context.endDispatch(before);
    }
  }

  /** Whether the receiver enters a context of the request before any code of a user runs. */
  private static boolean getsContext(BusMessage message) {
    return message instanceof BusMessage.CallRequest
        || message instanceof BusMessage.CallResponse
        || message instanceof BusMessage.StreamFrame
        || message instanceof BusMessage.RequestFrame;
  }
}
