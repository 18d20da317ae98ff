package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one deployment for its waiters. Used by the pump only, on one thread at a time.
 *
 * @param hasFallback returns whether another deployment could run a request now
 */
public record SlotSource(
    Supplier<ReplicaSet> replicas,
    BooleanSupplier hasFallback,
    ReplicaRanker.Ranking ranking,
    RandomGenerator random)
    implements WaiterQueue.GrantSource {

  /** Creates a source with a ranking of its own. */
  public SlotSource(
      Supplier<ReplicaSet> replicas, BooleanSupplier hasFallback, RandomGenerator random) {
    this(replicas, hasFallback, new ReplicaRanker.Ranking(), random);
  }

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
  public boolean isLimited(String limit) {
    return !limit.isEmpty()
        && Stream.of(replicas.get().all).anyMatch(each -> each.limits.isKnown(limit));
  }

  @Override
  public boolean waitersMayLeave() {
    ReplicaSet set = replicas.get();
    return hasFallback.getAsBoolean() && set.eligible.length > 0 && !set.anyFor(null, true);
  }

  @Override
  public void declineOffers() {
    for (RoutedReplica each : replicas.get().all) {
      each.declineOffers();
    }
  }
}
