package dev.berth.replica;

import dev.berth.api.Response;
import dev.berth.metrics.Meters;
import dev.berth.replica.slots.Ledgers;

/** A replica with a count in each counter that few tests make rise. */
public final class CountingReplica {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private CountingReplica() {}

  /** Returns its metrics in the Prometheus text format. */
  public static String metrics() {
    ReplicaRig rig = new ReplicaRig();
    Replica replica = rig.start(4, ReplicaRig.answering(Response.text("ok")));
    replica.timeouts.increment();
    replica.failures.unlogged.increment();
    replica.health.watch.start(rig.clock.getAsLong());
    replica.health.watch.onFinished(false, rig.clock.getAsLong());
    Ledgers.bendCounter(replica.slots(), "granted", 1);
    Ledgers.bendCounter(replica.slots(), "expired", 1);
    Ledgers.forgetEarly(replica.slots());
    return metrics(replica);
  }

  /** Returns the metrics of replicas of one application at {@code /echo}. */
  static String metrics(Replica... replicas) {
    Meters meters = new Meters("n", "a", "", false);
    for (Replica replica : replicas) {
      meters.add(into -> ReplicaSeries.show(replica, "/echo", into));
    }
    return meters.scrape(TEXT);
  }
}
