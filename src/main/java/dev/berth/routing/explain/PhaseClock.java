package dev.berth.routing.explain;

import dev.berth.protocol.HandlerTime;
import dev.berth.view.RequestExplanation;
import org.jspecify.annotations.Nullable;

/**
 * How long an explained request was in each of its phases. It is in one at a time, and each move
 * closes the one before, so that they add up to the whole. Moments are told by the caller, on one
 * clock.
 */
final class PhaseClock {
  /** Where a request is; AWAY is the bus and the handler, until an answer tells them apart. */
  enum Phase {
    RECEIVE,
    QUEUE,
    ROUTE,
    HELD,
    AWAY,
    STREAM,
    RESPOND
  }

  private final long arrivedNanos;
  private final long[] spent = new long[Phase.values().length];
  private Phase phase = Phase.ROUTE;
  private long since;
  private boolean accepted; // while AWAY: it runs, or surely will
  private long acceptedNanos;
  private long handled; // of what was spent AWAY
  private long gathered; // likewise, on its body
  long lastHandled; // by who answered
  long settledNanos; // when that one's handler did, as near as it can be known
  private boolean over;

  PhaseClock(long arrivedNanos) {
    this.arrivedNanos = arrivedNanos;
    this.since = arrivedNanos;
  }

  /** Moves on; the moment, for whoever writes it down. */
  long enter(Phase next, long now) {
    if (over) {
      return now;
    }
    if (phase == Phase.AWAY && accepted) {
      handled += now - acceptedNanos; // it did not answer, so all of this was its handler's
    }
    move(next, now);
    return now;
  }

  private void move(Phase next, long now) {
    spent[phase.ordinal()] += now - since;
    accepted = false;
    phase = next;
    since = now;
  }

  /** It is sent. */
  long away(boolean certain, long now) {
    enter(Phase.AWAY, now);
    accepted = certain;
    acceptedNanos = now;
    return now;
  }

  /** It is known to run. */
  long accepted(long now) {
    if (phase == Phase.AWAY && !accepted) {
      accepted = true;
      acceptedNanos = now;
    }
    return now;
  }

  boolean isAway() {
    return phase == Phase.AWAY && !over;
  }

  /**
   * An answer came. What it says of another node's clock is believed no further than the round trip
   * was long; the two ways of that are taken to be as long as each other.
   */
  void back(@Nullable HandlerTime time, boolean bodyFollowed, boolean streamed, long now) {
    long trip = now - since;
    if (time != null) {
      long waited = Math.min(trip, Math.max(0, time.gatheredNanos()));
      lastHandled = Math.min(trip - waited, Math.max(0, time.handledNanos()));
      handled += lastHandled;
      long way = (trip - waited - lastHandled) / 2;
      settledNanos = now - way;
      if (bodyFollowed) {
        gathered += waited;
      }
    }
    move(streamed ? Phase.STREAM : Phase.RESPOND, now);
  }

  void end(long now) {
    enter(phase, now);
    over = true;
  }

  /** All that was the router's own doing, until now. */
  long overhead(long now) {
    long elsewhere = handled + gathered + spent[Phase.RECEIVE.ordinal()];
    elsewhere += spent[Phase.HELD.ordinal()] + spent[Phase.STREAM.ordinal()];
    if (phase == Phase.RECEIVE || phase == Phase.HELD || phase == Phase.STREAM) {
      elsewhere += now - since;
    } else if (phase == Phase.AWAY && accepted) {
      elsewhere += now - acceptedNanos;
    }
    return Math.max(0, now - arrivedNanos - elsewhere);
  }

  /** Once it is over. */
  RequestExplanation.Phases spent() {
    return new RequestExplanation.Phases(
        of(Phase.RECEIVE) + gathered,
        of(Phase.QUEUE),
        of(Phase.ROUTE),
        of(Phase.HELD),
        of(Phase.AWAY) - handled - gathered,
        handled,
        of(Phase.STREAM),
        of(Phase.RESPOND),
        since - arrivedNanos);
  }

  private long of(Phase each) {
    return spent[each.ordinal()];
  }
}
