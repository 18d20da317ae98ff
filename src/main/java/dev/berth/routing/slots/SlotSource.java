package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The slots of one deployment for its waiters. Used by the pump only, on one thread at a time.
 *
 * @param hasFallback returns whether another deployment could run a request now
 * @param maxOvertake returns the present {@code max_overtake_ms}, in nanoseconds
 */
public record SlotSource(
    Supplier<ReplicaSet> replicas,
    BooleanSupplier hasFallback,
    ReplicaRanker.Ranking ranking,
    RandomGenerator random,
    LongSupplier nanoClock,
    LongSupplier maxOvertake)
    implements GrantSource {

  /** Creates a source with a ranking of its own. */
  public SlotSource(
      Supplier<ReplicaSet> replicas,
      BooleanSupplier hasFallback,
      RandomGenerator random,
      LongSupplier nanoClock,
      LongSupplier maxOvertake) {
    this(replicas, hasFallback, new ReplicaRanker.Ranking(), random, nanoClock, maxOvertake);
  }

  @Override
  public long maxOvertakeNanos() {
    return maxOvertake.getAsLong();
  }

  @Override
  public long now() {
    return nanoClock.getAsLong();
  }

  @Override
  public @Nullable RoutedReplica keptFor(WaiterOwner owner, @Nullable RoutedReplica before) {
    RoutedReplica best = null;
    int most = 0;
    for (RoutedReplica each : replicas.get().eligible) {
      if (owner.accepts(each) && each.maxOngoing() >= owner.cost()) {
        int free = each == before ? Integer.MAX_VALUE : each.maxOngoing() - each.ongoing();
        if (best == null || free > most) {
          best = each;
          most = free;
        }
      }
    }
    return best;
  }

  @Override
  public @Nullable Grant grantFor(WaiterOwner owner, @Nullable RoutedReplica kept) {
    ReplicaSet set = replicas.get();
    if (!set.available) {
      return Grant.UNAVAILABLE;
    }
    Pick.rank(set, owner, ranking, random);
    Grant grant = Pick.from(set, ranking, owner, owner.holdNanos(), random, kept);
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
  public int mostFree() {
    int most = 0;
    for (RoutedReplica each : replicas.get().eligible) {
      most = Math.max(most, each.maxOngoing() - each.ongoing());
    }
    return most;
  }

  @Override
  public boolean isOffered(int from, int to) {
    return Stream.of(replicas.get().all).anyMatch(each -> each.isOffered(from, to));
  }

  @Override
  public void declineOffers() {
    for (RoutedReplica each : replicas.get().all) {
      each.declineOffers();
    }
  }
}
