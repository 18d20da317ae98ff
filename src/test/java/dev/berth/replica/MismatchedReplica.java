package dev.berth.replica;

import dev.berth.api.AsyncHandler;
import dev.berth.replica.slots.Ledgers;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import java.time.Duration;

/** A replica of which a test can lose slots, for the parts that watch over ledgers. */
public final class MismatchedReplica {
  private final ReplicaRig rig = new ReplicaRig();
  private final Replica replica =
      rig.start(4, (AsyncHandler) (request, context) -> Future.succeededFuture());

  public ReplicaHost host() {
    return rig.host;
  }

  public void advanceMillis(long millis) {
    rig.clock.advance(Duration.ofMillis(millis));
  }

  /** A slot is counted as granted that no one holds. */
  public void loseASlot() {
    Ledgers.bendCounter(replica.slots(), "granted", 1);
  }

  public LedgerView view() {
    return replica.view();
  }
}
