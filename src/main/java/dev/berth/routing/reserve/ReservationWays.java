package dev.berth.routing.reserve;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.Wish;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.Leg;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.legs.LegsObserver;
import dev.berth.routing.legs.RoutedLegs;
import java.util.List;

/** How slots are looked for, for a caller outside: one, or several at once, all or none. */
final class ReservationWays {
  private ReservationWays() {}

  /** What a repeat under the same key must want as well. */
  record Wanted(List<Wish> wishes, long waitNanos) {
    Wanted {
      wishes = List.copyOf(wishes);
      if (wishes.isEmpty()) {
        throw new IllegalArgumentException("wishes: none (expected: at least one)");
      }
    }
  }

  /** A wish as its router takes it. */
  static Leg leg(DeploymentRouter router, Wish wish) {
    long ttl =
        Math.min(
            wish.ttlNanos() > 0 ? wish.ttlNanos() : router.settings().reservationTtlNanos(),
            router.settings().maxReservationTtlNanos());
    return new Leg(
        router, ttl, "", "", wish.sessionId(), null, SlotRequest.NO_DEADLINE, Long.MAX_VALUE);
  }

  /**
   * Looks for slots, and tells the ask.
   *
   * @param named whether a failure says whose it is: they were asked for in a list
   * @param waits whether to wait where no slot is free
   * @return ends it at once, on any thread
   */
  static Runnable find(
      RouterLoop loop,
      List<Leg> legs,
      boolean named,
      long deadlineNanos,
      boolean waits,
      ReservationAsk ask) {
    return RoutedLegs.start(
        loop,
        legs,
        deadlineNanos,
        waits,
        new LegsObserver() {
          @Override
          public void onSelections(List<ReplicaSelection> selections) {
            ask.held(selections);
          }

          @Override
          public void onFailure(BerthException failure, int leg) {
            DeploymentRouter router = legs.get(Math.max(0, leg)).router();
            ReservationException refused = ReservationAsk.asProblem(router, failure);
            ask.failed(named ? named(leg, refused) : refused);
          }
        });
  }

  /** The same, saying which of them it was. */
  static ReservationException named(int leg, ReservationException refused) {
    return leg == LegsObserver.NO_LEG
        ? refused
        : new ReservationException(
            refused.problem(),
            "legs[" + leg + "]: " + refused.getMessage(),
            refused.retryAfterSeconds(),
            refused.statusCode());
  }
}
