package dev.berth.routing;

import java.util.concurrent.atomic.LongAdder;

/**
 * What a deployment's routers count. Gauges are differences of paired counters, clamped at 0, so
 * that no path can leave one raised: the pair is counted where the state changes hands.
 */
public final class HandleCounters {
  final LongAdder calls = new LongAdder(); // begun
  final LongAdder choices = new LongAdder(); // begun
  final LongAdder sent = new LongAdder(); // to a replica
  final LongAdder ended = new LongAdder(); // of the sent
  final LongAdder turnedAway = new LongAdder(); // of the sent: refused, so that they wait again
  final LongAdder selected = new LongAdder(); // selections made
  final LongAdder unselected = new LongAdder(); // selections over: dispatched, closed or expired
  final LongAdder dispatched = new LongAdder();
  final LongAdder undispatched = new LongAdder(); // selections over, and not by a dispatch
  final LongAdder selectionsExpired = new LongAdder();
  final LongAdder backPressured = new LongAdder();
  final LongAdder retries = new LongAdder(); // waits again after a refusal
  final LongAdder collectedAnew = new LongAdder(); // several slots: what was held was lost

  HandleCounters() {}

  /** Requests accepted or refused since start ({@code serve_num_router_requests}). */
  public long requests() {
    return calls.sum() + choices.sum();
  }

  /** Calls begun and selections dispatched ({@code serve_handle_request_counter}). */
  public long handleRequests() {
    return calls.sum() + dispatched.sum();
  }

  /** Requests at replicas now ({@code serve_num_ongoing_requests_at_replicas}). */
  public int running() {
    long over = ended.sum() + turnedAway.sum(); // first, so that the difference is never too small
    return (int) Math.max(0, sent.sum() - over);
  }

  /** Slots held by selections now ({@code serve_reserved_slots_active}). */
  public int reserved() {
    long over = unselected.sum();
    return (int) Math.max(0, selected.sum() - over);
  }

  /** Selections closed or expired ({@code serve_selections_released_without_dispatch}). */
  public long releasedWithoutDispatch() {
    return undispatched.sum();
  }

  /** Selections whose owner let the lease run out. */
  public long selectionsExpired() {
    return selectionsExpired.sum();
  }

  /** Requests refused because a bound was reached. */
  public long backPressured() {
    return backPressured.sum();
  }

  /** Requests that waited again after a typed refusal. */
  public long retries() {
    return retries.sum();
  }

  /** Requests for several slots that lost what they held of it, and began anew. */
  public long collectedAnew() {
    return collectedAnew.sum();
  }
}
