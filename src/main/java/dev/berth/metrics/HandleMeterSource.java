package dev.berth.metrics;

import java.util.List;
import java.util.function.ObjIntConsumer;

/** What the meters read of one deployment's router, at a scrape, from any thread. */
public interface HandleMeterSource extends HandleMetricSource {

  /** The route of its application; empty when it has none. */
  String route();

  /**
   * Requests that were sent on their way: calls, and selections once they are dispatched. Never
   * falls.
   */
  long handleRequests();

  /** What requests waited until they had their replica, by loop. */
  List<LatencyBuckets> fulfillmentTimes();

  /** From the making of a selection to its dispatch, by loop. */
  List<LatencyBuckets> dispatchGaps();

  /** Selections that ended in any other way than by a dispatch; never falls. */
  long releasedWithoutDispatch();

  /** Of these, the ones whose lease ran out. */
  long selectionsExpired();

  /** Requests for several slots of it that wait for others to have collected theirs. */
  int waitingToCollect();

  /** Requests for several slots that lost what they held of it, and began anew; never falls. */
  long collectedAnew();

  /** Requests refused because a bound was reached; never falls. */
  long backPressured();

  /** Requests that waited again after a replica refused them; never falls. */
  long retries();

  /** Slots that went from a completed request to a waiter in one step; never falls. */
  long handOffs();

  /** Rankings that threw; never falls. */
  long rankerFailures();

  /** Requests running or reserved at each replica, as the router sees it: id and number. */
  void forEachReplica(ObjIntConsumer<String> into);
}
