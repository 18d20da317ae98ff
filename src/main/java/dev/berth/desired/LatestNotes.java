package dev.berth.desired;

import io.vertx.core.Future;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the instance has to note by itself: of all that is said of something before the turn of a
 * note comes, the last. There is one that waits at a time. Belongs to the control loop.
 */
final class LatestNotes<K, V extends @Nullable Object> {
  private final CommandQueue queue;
  private final Function<Map<K, V>, Future<?>> note;
  private Map<K, V> waiting = new LinkedHashMap<>();
  private boolean writing;

  /**
   * @param note begins to note these when their turn comes
   */
  LatestNotes(CommandQueue queue, Function<Map<K, V>, Future<?>> note) {
    this.queue = queue;
    this.note = note;
  }

  void add(K what, V said) {
    boolean first = waiting.isEmpty();
    waiting.put(what, said);
    if (first) {
      queue.addAnyway(0, this::taken).onComplete(ended -> writing = false);
    }
  }

  private Future<?> taken() {
    Map<K, V> taken = waiting;
    waiting = new LinkedHashMap<>();
    writing = true;
    return note.apply(taken);
  }

  /** Whether all that was said is noted. */
  boolean isIdle() {
    return waiting.isEmpty() && !writing;
  }
}
