package dev.berth.desired;

import io.vertx.core.Future;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the instance has to note by itself: of all that is said of something before the turn of a
 * note comes, the last. There is one that waits at a time. One that was not kept waits until
 * something else was. Belongs to the control loop.
 */
final class LatestNotes<K, V extends @Nullable Object> {
  private final CommandQueue queue;
  private final Function<Map<K, V>, Future<Boolean>> note;
  private Map<K, V> waiting = new LinkedHashMap<>();
  private boolean queued;
  private boolean writing;

  /**
   * @param note begins to note these when their turn comes; whether they are kept
   */
  LatestNotes(CommandQueue queue, Function<Map<K, V>, Future<Boolean>> note) {
    this.queue = queue;
    this.note = note;
  }

  void add(K what, V said) {
    waiting.put(what, said);
    again();
  }

  /** Something else was kept: what waits may be as well. */
  void again() {
    if (!waiting.isEmpty() && !queued) {
      queued = true;
      queue.addAnyway(0, this::taken).onComplete(ended -> writing = false);
    }
  }

  private Future<Boolean> taken() {
    Map<K, V> taken = waiting;
    waiting = new LinkedHashMap<>();
    queued = false;
    writing = true;
    return note.apply(taken).onSuccess(kept -> sayAgain(kept ? Map.of() : taken));
  }

  /** Unless something newer was said. */
  private void sayAgain(Map<K, V> lost) {
    Map<K, V> all = new LinkedHashMap<>(lost);
    all.putAll(waiting);
    waiting = all;
  }

  /** Whether all that was said is noted. */
  boolean isIdle() {
    return waiting.isEmpty() && !writing;
  }
}
