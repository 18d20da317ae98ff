package dev.berth.desired;

import io.vertx.core.Future;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Coalesces notes that the instance writes by itself: of several values of a key before the queued
 * write starts, only the last is written. At most one write is queued. Failed notes wait until
 * another command is persisted. Confined to the control loop.
 */
final class CoalescingWriter<K, V extends @Nullable Object> {
  private final CommandQueue queue;
  private final Function<Map<K, V>, Future<Boolean>> note;
  private Map<K, V> waiting = new LinkedHashMap<>();
  private boolean queued;
  private boolean writing;

  /**
   * @param note starts to write the notes; its result is whether they were persisted
   */
  CoalescingWriter(CommandQueue queue, Function<Map<K, V>, Future<Boolean>> note) {
    this.queue = queue;
    this.note = note;
  }

  void add(K what, V said) {
    waiting.put(what, said);
    again();
  }

  /**
   * Queues the waiting notes. Called after another command was persisted, as the log then works
   * again.
   */
  void again() {
    if (!waiting.isEmpty() && !queued) {
      queued = true;
      queue.addAnyway(0, this::flush).onComplete(ended -> writing = false);
    }
  }

  private Future<Boolean> flush() {
    Map<K, V> taken = waiting;
    waiting = new LinkedHashMap<>();
    queued = false;
    writing = true;
    return note.apply(taken).onSuccess(kept -> sayAgain(kept ? Map.of() : taken));
  }

  /** Restores failed notes, except those with a newer value. */
  private void sayAgain(Map<K, V> lost) {
    Map<K, V> all = new LinkedHashMap<>(lost);
    all.putAll(waiting);
    waiting = all;
  }

  /** Returns whether no note waits or is being written. */
  boolean isIdle() {
    return waiting.isEmpty() && !writing;
  }
}
