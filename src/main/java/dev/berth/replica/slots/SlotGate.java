package dev.berth.replica.slots;

import dev.berth.protocol.port.UpstreamGate;
import io.vertx.core.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The maximum of a replica's slots: the configured number while the replica is open, 0 while its
 * handler keeps it closed. Thread-safe.
 *
 * <p><b>Concurrency.</b> Each change swaps the state first and applies it to the ledger second,
 * until the state has not changed meanwhile. The ledger so ends with the last state, and a waiter
 * that it notifies runs outside any lock.
 */
public final class SlotGate implements UpstreamGate {
  private final SlotLedger slots;
  private final Consumer<String> listener;
  private final AtomicReference<GateState> state;
  private String reported; // guarded by this
  private boolean reportedUnreachable; // guarded by this
  private volatile Supplier<Future<Void>> reset = Future::succeededFuture;
  private volatile @Nullable SlotLedger slotless; // null until such requests are permitted

  /**
   * @param max 0 in a cluster until the replica has a share of its upstream
   * @param reason of a closed gate; empty while open
   * @param unreachable whether no connection to the server of a closed gate succeeds
   */
  private record GateState(int max, String reason, boolean unreachable) {
    int slots() {
      return reason.isEmpty() ? max : 0;
    }

    String text() {
      if (slots() > 0) {
        return "";
      }
      return "closed: " + (reason.isEmpty() ? "no share of the upstream yet" : reason);
    }
  }

  /**
   * Creates the open gate of a ledger.
   *
   * @param listener receives {@link #text} after each change of it or of {@link #isUnreachable};
   *     must not block
   */
  public SlotGate(SlotLedger slots, Consumer<String> listener) {
    this.slots = slots;
    this.listener = listener;
    this.state = new AtomicReference<>(new GateState(slots.maxOngoing(), "", false));
    this.reported = text();
  }

  @Override
  public void close(String reason, boolean unreachable) {
    if (reason.isEmpty()) {
      throw new IllegalArgumentException("reason: empty (expected: one line)");
    }
    change(now -> new GateState(now.max, reason, unreachable));
  }

  @Override
  public void open() {
    change(now -> new GateState(now.max, "", false));
  }

  /** Changes the configured number of slots, which a closed replica has once it opens. */
  public void configure(int max) {
    change(now -> new GateState(max, now.reason, now.unreachable));
  }

  @Override
  public synchronized void permitSlotless(int max) {
    SlotLedger known = slotless;
    if (known != null) {
      known.setMaxOngoing(max);
    } else if (max > 0) {
      slotless = slots.another(max);
    }
  }

  /** Returns the ledger of requests without a slot; null if none were ever permitted. */
  public @Nullable SlotLedger slotless() {
    return slotless;
  }

  @Override
  public void resetBy(Supplier<Future<Void>> action) {
    reset = action;
  }

  /** Resets the connections of the handler. Completes when they are closed. */
  public Future<Void> reset() {
    return reset.get();
  }

  /** Returns the configured number of slots. */
  public int max() {
    return state.get().max;
  }

  /** Returns the state for operators: {@code closed: reason}; empty while open. */
  public String text() {
    return state.get().text();
  }

  /** Returns whether the gate is closed since no connection to its server succeeds. */
  public boolean isUnreachable() {
    return state.get().unreachable;
  }

  private void change(UnaryOperator<GateState> next) {
    GateState before = state.getAndUpdate(next);
    for (GateState now = state.get(); now != before; now = state.get()) {
      slots.setMaxOngoing(now.slots());
      before = now;
    }
    synchronized (this) { // keeps the listener's calls in order
      String text = text();
      boolean unreachable = isUnreachable();
      if (!text.equals(reported) || unreachable != reportedUnreachable) {
        reported = text;
        reportedUnreachable = unreachable;
        listener.accept(text);
      }
    }
  }
}
