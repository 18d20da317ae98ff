package dev.berth.routing;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RoutingSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A deployment's replicas as an instance's routers see them: immutable, swapped whole, with the
 * tiers of every loop worked out beforehand so that a decision only reads arrays.
 */
final class ReplicaSet {
  private static final int[] NONE = {};

  final RoutingSnapshot.Version version;
  final boolean available;
  final RoutedReplica[] all; // routable and draining
  final RoutedReplica[] routable;
  final boolean anyUnreservable; // among the routable
  private final View[] views; // by loop

  ReplicaSet(
      RoutingSnapshot.Version version,
      boolean available,
      List<RoutedReplica> replicas,
      int loops,
      @Nullable String zone) {
    this.version = version;
    this.available = available;
    this.all = replicas.toArray(RoutedReplica[]::new);
    List<RoutedReplica> open = new ArrayList<>();
    boolean unreservable = false;
    for (RoutedReplica replica : replicas) {
      if (replica.routable()) {
        open.add(replica);
        unreservable |= !replica.info.reservable();
      }
    }
    this.routable = open.toArray(RoutedReplica[]::new);
    this.anyUnreservable = unreservable;
    int[] any = indices(replica -> true);
    int[] node = indices(replica -> replica instanceof LocalReplica);
    int[] zoned =
        indices(
            replica ->
                replica instanceof LocalReplica
                    || (zone != null && Objects.equals(zone, replica.info.zone())));
    this.views = new View[loops];
    for (int loop = 0; loop < loops; loop++) {
      int own = loop;
      int[] sameLoop =
          indices(
              replica -> replica instanceof LocalReplica && replica.addressFor(own).loop() == own);
      views[loop] = new View(sameLoop, node, zoned, any);
    }
  }

  static ReplicaSet empty(int loops) {
    return new ReplicaSet(RoutingSnapshot.Version.NONE, true, List.of(), loops, null);
  }

  private int[] indices(java.util.function.Predicate<RoutedReplica> belongs) {
    int[] found = new int[routable.length];
    int size = 0;
    for (int i = 0; i < routable.length; i++) {
      if (belongs.test(routable[i])) {
        found[size++] = i;
      }
    }
    return size == 0 ? NONE : java.util.Arrays.copyOf(found, size);
  }

  /** The routable replicas as one loop sees them. */
  ReplicaRanker.Candidates seenFrom(int loop) {
    return views[loop];
  }

  private final class View implements ReplicaRanker.Candidates {
    private final int[][] tiers;

    View(int[]... tiers) {
      this.tiers = tiers; // in the order of Tier
    }

    @Override
    public int size() {
      return routable.length;
    }

    @Override
    public int ongoing(int index) {
      return routable[index].ongoing();
    }

    @Override
    public int maxOngoing(int index) {
      return routable[index].maxOngoing();
    }

    @Override
    public int[] within(ReplicaRanker.Tier tier) {
      return tiers[tier.ordinal()];
    }
  }
}
