package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.Slots;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A deployment's replicas as an instance's routers see them: immutable, swapped whole, with the
 * tiers of every loop worked out beforehand so that a decision only reads arrays. It is made anew
 * when a loop blocks or runs again, so that avoiding its replicas costs a decision nothing.
 */
public final class ReplicaSet {
  private static final int[] NONE = {};

  public final RoutingSnapshot.Version version;
  public final boolean available;
  public final RoutedReplica[] all; // routable and draining
  public final RoutedReplica[]
      eligible; // the routable, but for those on blocked loops if others are not
  private final @Nullable Slots[] slots; // of the eligible that are here
  public final boolean avoiding; // whether one on a blocked loop is not eligible
  public final boolean anyUnreservable; // among the eligible
  public final int wholeBodyBytes; // that all of them gather of a body
  private final View[] views; // by loop

  public ReplicaSet(
      RoutingSnapshot.Version version,
      boolean available,
      List<RoutedReplica> replicas,
      BlockedLoops blocked,
      @Nullable String zone) {
    this.version = version;
    this.available = available;
    this.all = replicas.toArray(RoutedReplica[]::new);
    this.eligible = eligible(replicas, blocked);
    this.slots = new Slots[eligible.length];
    for (int i = 0; i < eligible.length; i++) {
      slots[i] = eligible[i].slots();
    }
    this.avoiding = eligible.length > 0 && !eligible[0].isOn(blocked);
    boolean unreservable = false;
    int gathered = eligible.length == 0 ? 0 : Integer.MAX_VALUE;
    for (RoutedReplica replica : eligible) {
      unreservable |= !replica.info.reservable();
      gathered = Math.min(gathered, replica.info.wholeBodyBytes());
    }
    this.anyUnreservable = unreservable;
    this.wholeBodyBytes = gathered;
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
  }

  public static ReplicaSet empty(BlockedLoops blocked) {
    return new ReplicaSet(RoutingSnapshot.Version.NONE, true, List.of(), blocked, null);
  }

  /** Where every routable replica is on a blocked loop there is nothing better than waiting. */
  private static RoutedReplica[] eligible(List<RoutedReplica> replicas, BlockedLoops blocked) {
    List<RoutedReplica> routable = new ArrayList<>();
    List<RoutedReplica> free = new ArrayList<>();
    for (RoutedReplica replica : replicas) {
      if (replica.routable()) {
        routable.add(replica);
        if (!replica.isOn(blocked)) {
          free.add(replica);
        }
      }
    }
    List<RoutedReplica> chosen = free.isEmpty() ? routable : free;
    return chosen.toArray(RoutedReplica[]::new);
  }

  private int[] indices(java.util.function.Predicate<RoutedReplica> belongs) {
    int[] found = new int[eligible.length];
    int size = 0;
    for (int i = 0; i < eligible.length; i++) {
      if (belongs.test(eligible[i])) {
        found[size++] = i;
      }
    }
    return size == 0 ? NONE : Arrays.copyOf(found, size);
  }

  /** Whether an eligible one is of another instance. */
  public boolean anyRemote() {
    return Arrays.asList(slots).contains(null);
  }

  /** The eligible replicas as one loop sees them. */
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
    public int ongoing(int index) {
      // The ledger is not looked up in the replica: two waits for memory at once, and not one after
      // the other. The replica is looked at all the same: if it is chosen, it is needed next.
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
}
