package dev.berth.routing;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of one deployment's router. Gauges are differences of paired counters, clamped at 0. No
 * path can leave a gauge raised, because both counters change where the state changes hands.
 */
public final class HandleCounters {
  final LongAdder calls = new LongAdder(); // calls begun
  final LongAdder choices = new LongAdder(); // chooses begun
  final LongAdder sent = new LongAdder(); // slots of calls sent to a replica
  final LongAdder ended = new LongAdder(); // slots of sent calls that ended
  final LongAdder turnedAway = new LongAdder(); // slots of sent calls that wait again
  final LongAdder selected = new LongAdder(); // slots of selections created
  final LongAdder unselected = new LongAdder(); // of selections dispatched, closed or expired
  final LongAdder dispatched = new LongAdder();

  /** Selections closed or expired ({@code serve_selections_released_without_dispatch}). */
  public final LongAdder undispatched = new LongAdder();

  public final LongAdder selectionsExpired = new LongAdder();

  /** Requests refused because a limit was reached. */
  public final LongAdder backPressured = new LongAdder();

  /** Waits after a typed refusal. */
  public final LongAdder retries = new LongAdder();

  /** Requests that left for a fallback. */
  public final LongAdder fallbacks = new LongAdder();

  /** Requests for several slots that lost their slots and started again. */
  public final LongAdder collectedAnew = new LongAdder();

  HandleCounters() {}

  /** Returns the requests accepted or refused since start ({@code serve_num_router_requests}). */
  public long requests() {
    return calls.sum() + choices.sum();
  }

  /** Returns the calls begun and selections dispatched ({@code serve_handle_request_counter}). */
  public long handleRequests() {
    return calls.sum() + dispatched.sum();
  }

  /**
   * Returns the slots of requests at replicas now ({@code serve_num_ongoing_requests_at_replicas}).
   */
  public int running() {
    // read first, so that the difference is never too small
    long over = ended.sum() + turnedAway.sum();
    return (int) Math.max(0, sent.sum() - over);
  }

  /** Returns the slots held by selections now ({@code serve_reserved_slots_active}). */
  public int reserved() {
    long over = unselected.sum();
    return (int) Math.max(0, selected.sum() - over);
  }
}
