package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one deployment for its waiters. Used by the pump only, on one thread at a time.
 *
 * @param mayLeave returns whether waiters may leave although no slot is free
 */
public record SlotSource(
    Supplier<ReplicaSet> replicas,
    BooleanSupplier mayLeave,
    ReplicaRanker.Ranking ranking,
    RandomGenerator random)
    implements WaiterQueue.GrantSource {

  @Override
  public @Nullable Grant grantFor(WaiterOwner owner) {
    ReplicaSet set = replicas.get();
    if (!set.available) {
      return Grant.UNAVAILABLE;
    }
    Pick.rank(set, owner, ranking, random);
    Grant grant = Pick.from(set, ranking, owner, owner.holdNanos(), random);
    return grant == null && owner.hopeless() ? Grant.UNAVAILABLE : grant;
  }

  @Override
  public boolean waitersMayLeave() {
    return mayLeave.getAsBoolean();
  }

  @Override
  public void declineOffers() {
    for (RoutedReplica each : replicas.get().all) {
      each.declineOffers();
    }
  }
}
