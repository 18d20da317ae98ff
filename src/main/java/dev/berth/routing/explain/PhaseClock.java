package dev.berth.routing.explain;

import dev.berth.protocol.HandlerTime;
import dev.berth.view.RequestExplanation;
import org.jspecify.annotations.Nullable;

/**
 * Measures the time of an explained request in each of its phases. The request is in one phase at a
 * time, and each move closes the phase before, so that the phases add up to the whole. The caller
 * supplies all times, from one clock.
 */
final class PhaseClock {
  /** Phase of a request. AWAY covers the bus and the handler, until a reply separates the two. */
  enum RequestPhase {
    RECEIVE,
    QUEUE,
    ROUTE,
    HELD,
    AWAY,
    STREAM,
    RESPOND
  }

  private final long arrivedNanos;
  private final long[] spent = new long[RequestPhase.values().length];
  private RequestPhase phase = RequestPhase.ROUTE;
  private long since;
  private boolean accepted; // while AWAY: runs, or certainly will
  private long acceptedNanos;
  private long handled; // handler's part of the AWAY time
  private long gathered; // body's part of the AWAY time
  private long batched; // part of the AWAY time before the start of a batch
  long lastHandled; // handler time of the last reply
  long settledNanos; // estimated settle time of that reply's handler
  private boolean over;

  PhaseClock(long arrivedNanos) {
    this.arrivedNanos = arrivedNanos;
    this.since = arrivedNanos;
  }

  /** Enters a phase, and returns {@code now} for its record. */
  long enter(RequestPhase next, long now) {
    if (over) {
      return now;
    }
    if (phase == RequestPhase.AWAY && accepted) {
      handled += now - acceptedNanos; // no reply came, so the handler had all of this
    }
    move(next, now);
    return now;
  }

  private void move(RequestPhase next, long now) {
    spent[phase.ordinal()] += now - since;
    accepted = false;
    phase = next;
    since = now;
  }

  /** Enters AWAY because the request is sent. */
  long away(boolean certain, long now) {
    enter(RequestPhase.AWAY, now);
    accepted = certain;
    acceptedNanos = now;
    return now;
  }

  /** Records that the request is known to run. */
  long accepted(long now) {
    if (phase == RequestPhase.AWAY && !accepted) {
      accepted = true;
      acceptedNanos = now;
    }
    return now;
  }

  boolean isAway() {
    return phase == RequestPhase.AWAY && !over;
  }

  /**
   * Records a reply. Its times from another node's clock are limited by the round trip, whose two
   * directions are assumed to be equally long.
   */
  void back(@Nullable HandlerTime time, boolean bodyFollowed, boolean streamed, long now) {
    long trip = now - since;
    if (time != null) {
      long waited = Math.min(trip, Math.max(0, time.gatheredNanos()));
      HandlerTime.BatchPlace place = time.batch();
      long held = place == null ? 0 : Math.min(trip - waited, Math.max(0, place.waitedNanos()));
      batched += held;
      lastHandled = Math.min(trip - waited - held, Math.max(0, time.handledNanos()));
      handled += lastHandled;
      long way = (trip - waited - held - lastHandled) / 2;
      settledNanos = now - way;
      if (bodyFollowed) {
        gathered += waited;
      }
    }
    move(streamed ? RequestPhase.STREAM : RequestPhase.RESPOND, now);
  }

  void end(long now) {
    enter(phase, now);
    over = true;
  }

  /** Returns the nanoseconds until now that the router itself caused. */
  long overhead(long now) {
    long elsewhere = handled + gathered + spent[RequestPhase.RECEIVE.ordinal()];
    elsewhere += spent[RequestPhase.HELD.ordinal()] + spent[RequestPhase.STREAM.ordinal()];
    if (phase == RequestPhase.RECEIVE
        || phase == RequestPhase.HELD
        || phase == RequestPhase.STREAM) {
      elsewhere += now - since;
    } else if (phase == RequestPhase.AWAY && accepted) {
      elsewhere += now - acceptedNanos;
    }
    return Math.max(0, now - arrivedNanos - elsewhere);
  }

  /** Returns the time in the queue. */
  long queued() {
    return of(RequestPhase.QUEUE);
  }

  /** Returns the time per phase. Call after the end. */
  RequestExplanation.RequestPhaseTimes spent() {
    return new RequestExplanation.RequestPhaseTimes(
        of(RequestPhase.RECEIVE) + gathered,
        queued() + batched,
        of(RequestPhase.ROUTE),
        of(RequestPhase.HELD),
        of(RequestPhase.AWAY) - handled - gathered - batched,
        handled,
        of(RequestPhase.STREAM),
        of(RequestPhase.RESPOND),
        since - arrivedNanos);
  }

  private long of(RequestPhase each) {
    return spent[each.ordinal()];
  }
}
