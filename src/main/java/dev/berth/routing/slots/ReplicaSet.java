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
 * A deployment's replicas as the routers of an instance see them. A set is immutable, and each
 * change replaces the set. The constructor computes the {@link ReplicaRanker.Tier tiers} for every
 * loop, so that a routing decision only reads arrays. When a loop blocks or recovers, the router
 * creates a new set, so that decisions avoid replicas on blocked loops without a check.
 */
public final class ReplicaSet {
  public final RoutingSnapshot.SnapshotVersion version;
  public final boolean available;
  public final RoutedReplica[] all; // routable and draining
  private final long blockedThen; // number of replicas on blocked loops at creation
  public final RoutedReplica[] eligible; // routable, not on blocked loops; else all routable
  private final @Nullable Slots[] slots; // of the eligible replicas; null if remote
  public final boolean avoiding; // whether the eligible replicas are on running loops
  public final boolean anyUnreservable; // among the eligible replicas
  public final int wholeBodyBytes; // largest body that every eligible replica buffers
  private final LoopCandidates[] views; // indexed by loop
  public final ReplicaRanker ranker; // ranks this set only

  public ReplicaSet(
      RoutingSnapshot.SnapshotVersion version,
      boolean available,
      List<RoutedReplica> replicas,
      RoutingExclusions blocked,
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
    this.views = new LoopCandidates[blocked.loops()];
    for (int loop = 0; loop < views.length; loop++) {
      int own = loop;
      int[] sameLoop = indices(replica -> replica.here() && replica.addressFor(own).loop() == own);
      views[loop] = new LoopCandidates(sameLoop, node, zoned, any);
    }
    this.ranker = ranker.over(views[0]);
  }

  public static ReplicaSet empty(RoutingExclusions blocked, ReplicaRanker ranker) {
    return new ReplicaSet(
        RoutingSnapshot.SnapshotVersion.NONE, true, List.of(), blocked, null, ranker);
  }

  /**
   * Returns the eligible replica of an index in a ranking; null for none, since a user's ranker may
   * write to the ranking after its call.
   */
  @Nullable RoutedReplica at(int index) {
    return index >= 0 && index < eligible.length ? eligible[index] : null;
  }

  /**
   * Returns the routable replicas that are not on blocked loops. If all are on blocked loops,
   * returns all routable replicas, because then it is best to wait for them.
   */
  private static RoutedReplica[] eligible(List<RoutedReplica> replicas, RoutingExclusions blocked) {
    List<RoutedReplica> routable = replicas.stream().filter(RoutedReplica::routable).toList();
    List<RoutedReplica> free = routable.stream().filter(each -> !each.isOn(blocked)).toList();
    return (free.isEmpty() ? routable : free).toArray(RoutedReplica[]::new);
  }

  private int[] indices(Predicate<RoutedReplica> belongs) {
    return IntStream.range(0, eligible.length).filter(i -> belongs.test(eligible[i])).toArray();
  }

  /** Returns whether a replica takes batches of a method, or may do so since none is known. */
  public boolean batches(String method) {
    for (RoutedReplica each : eligible) {
      if (each.batches(method)) {
        return true;
      }
    }
    return eligible.length == 0;
  }

  /** Returns whether an eligible replica is at another instance. */
  public boolean anyRemote() {
    return Arrays.asList(slots).contains(null);
  }

  /** Returns the eligible replicas as one loop sees them. */
  public ReplicaRanker.Candidates seenFrom(int loop) {
    return views[loop];
  }

  private final class LoopCandidates implements ReplicaRanker.Candidates {
    private final int[][] tiers;

    LoopCandidates(int[]... tiers) {
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
      // Reads the ledger from the array of ledgers and not from the replica, so that the two memory
      // loads overlap. Reading the replica costs little: a chosen replica is needed next anyway.
      Slots local = slots[index];
      boolean here = local != null && !eligible[index].isRemoved();
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
   * Returns whether the number of replicas on blocked loops has changed. This occurs without a new
   * set if a remote replica no longer sends reports.
   */
  public boolean isOutdated(RoutingExclusions blocked) {
    return blockedThen > 0 && blockedThen != countOn(blocked);
  }

  private long countOn(RoutingExclusions blocked) {
    return Arrays.stream(all).filter(each -> each.isOn(blocked)).count();
  }

  /**
   * Returns whether a replica is routable, and a request accepts it.
   *
   * @param request null for any
   * @param open whether only replicas with slots count, free or in use
   */
  public boolean anyFor(@Nullable WaiterOwner request, boolean open) {
    for (RoutedReplica each : all) {
      boolean accepted = request == null ? each.routable() : request.accepts(each);
      if (accepted && (!open || each.maxOngoing() > 0)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether a request accepts a replica, and each that it accepts has some slots, but fewer
   * than {@code cost}. A closed replica may have more once it opens.
   */
  public boolean areAllBelow(int cost, WaiterOwner request) {
    boolean any = false;
    for (RoutedReplica each : all) {
      if (request.accepts(each)) {
        any = true;
        if (each.maxOngoing() >= cost || each.maxOngoing() == 0) {
          return false;
        }
      }
    }
    return any;
  }

  /**
   * Relaxes the estimates of the replicas' limits.
   *
   * @param forget whether to forget them, since no request waits
   */
  public void relaxLimits(boolean forget) {
    for (RoutedReplica each : all) {
      each.limits.relax(forget);
    }
  }

  /** Returns whether a routable replica is on an instance that is not suspected. */
  public boolean isReached(RoutingExclusions blocked) {
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
