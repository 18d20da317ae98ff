package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.Slots;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A deployment's replicas as seen by the routers of an instance: immutable, and swapped whole. The
 * tiers of every loop are precomputed, so that a decision only reads arrays. A loop that blocks or
 * recovers causes a new set, so that decisions avoid its replicas at no cost.
 */
public final class ReplicaSet {
  public final RoutingSnapshot.Version version;
  public final boolean available;
  public final RoutedReplica[] all; // routable and draining
  private final long blockedThen; // number of all that were on blocked loops
  public final RoutedReplica[] eligible; // routable; those on blocked loops only if no others exist
  private final @Nullable Slots[] slots; // of the eligible; null if remote
  public final boolean avoiding; // replicas on blocked loops are not eligible
  public final boolean anyUnreservable; // among the eligible
  public final int wholeBodyBytes; // body size that every eligible replica gathers
  private final View[] views; // indexed by loop
  public final ReplicaRanker ranker; // ranks this set only

  public ReplicaSet(
      RoutingSnapshot.Version version,
      boolean available,
      List<RoutedReplica> replicas,
      BlockedLoops blocked,
      @Nullable String zone,
      ReplicaRanker ranker) {
    this.version = version;
    this.available = available;
    this.all = replicas.toArray(RoutedReplica[]::new);
    this.blockedThen = countOn(blocked);
    this.eligible = eligible(replicas, blocked);
    this.slots = Arrays.stream(eligible).map(RoutedReplica::slots).toArray(Slots[]::new);
    this.avoiding = eligible.length > 0 && !eligible[0].isOn(blocked);
    this.anyUnreservable = indices(replica -> !replica.info.reservable()).length > 0;
    this.wholeBodyBytes =
        Arrays.stream(eligible).mapToInt(each -> each.info.wholeBodyBytes()).min().orElse(0);
    int[] any = indices(replica -> true);
    int[] node = indices(RoutedReplica::here);
    int[] zoned =
        indices(
            replica ->
                replica.here() || (zone != null && Objects.equals(zone, replica.info.zone())));
    this.views = new View[blocked.loops()];
    for (int loop = 0; loop < views.length; loop++) {
      int own = loop;
      int[] sameLoop = indices(replica -> replica.here() && replica.addressFor(own).loop() == own);
      views[loop] = new View(sameLoop, node, zoned, any);
    }
    this.ranker = ranker.over(views[0]);
  }

  public static ReplicaSet empty(BlockedLoops blocked, ReplicaRanker ranker) {
    return new ReplicaSet(RoutingSnapshot.Version.NONE, true, List.of(), blocked, null, ranker);
  }

  /**
   * Returns the routable replicas, without those on blocked loops unless all are on blocked loops:
   * then waiting is the best choice.
   */
  private static RoutedReplica[] eligible(List<RoutedReplica> replicas, BlockedLoops blocked) {
    List<RoutedReplica> routable = replicas.stream().filter(RoutedReplica::routable).toList();
    List<RoutedReplica> free = routable.stream().filter(each -> !each.isOn(blocked)).toList();
    return (free.isEmpty() ? routable : free).toArray(RoutedReplica[]::new);
  }

  private int[] indices(Predicate<RoutedReplica> belongs) {
    return IntStream.range(0, eligible.length).filter(i -> belongs.test(eligible[i])).toArray();
  }

  /** Returns whether an eligible replica is at another instance. */
  public boolean anyRemote() {
    return Arrays.asList(slots).contains(null);
  }

  /** Returns the eligible replicas as one loop sees them. */
  public ReplicaRanker.Candidates seenFrom(int loop) {
    return views[loop];
  }

  private final class View implements ReplicaRanker.Candidates {
    private final int[][] tiers;

    View(int[]... tiers) {
      this.tiers = tiers; // in the order of Tier
    }

    @Override
    public int size() {
      return eligible.length;
    }

    @Override
    public String replicaId(int index) {
      return eligible[index].info.replicaId();
    }

    @Override
    public ReplicaRanker.@Nullable Listener listener(int index) {
      return eligible[index].listener();
    }

    @Override
    public int ongoing(int index) {
      // Reads the ledger from its own array, so that two memory loads overlap instead of following
      // one another. The replica is read all the same: if it is chosen, it is needed next.
      Slots local = slots[index];
      boolean here = local != null && !eligible[index].gone();
      return here ? local.ongoing() : eligible[index].ongoing();
    }

    @Override
    public int maxOngoing(int index) {
      Slots local = slots[index];
      return local != null ? local.maxOngoing() : eligible[index].maxOngoing();
    }

    @Override
    public int[] within(ReplicaRanker.Tier tier) {
      return tiers[tier.ordinal()];
    }
  }

  /**
   * Returns whether the blocked replicas have changed, because a remote one no longer sends
   * reports.
   */
  public boolean isOutdated(BlockedLoops blocked) {
    return blockedThen > 0 && blockedThen != countOn(blocked);
  }

  private long countOn(BlockedLoops blocked) {
    return Arrays.stream(all).filter(each -> each.isOn(blocked)).count();
  }

  /** Returns whether a routable replica is on an instance that is not suspected. */
  public boolean isReached(BlockedLoops blocked) {
    return Stream.of(all)
        .anyMatch(
            each ->
                each.routable() && (each.here() || !blocked.suspects(each.info.address().node())));
  }

  /** Returns whether at least {@code slots} slots are free now. */
  public boolean hasFree(int slots) {
    int free = 0;
    for (int i = 0; i < eligible.length && free < slots; i++) {
      free += Math.max(0, eligible[i].maxOngoing() - eligible[i].ongoing());
    }
    return free >= slots;
  }
}
