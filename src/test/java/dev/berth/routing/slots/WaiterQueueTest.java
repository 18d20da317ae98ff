package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the pump survives. What it grants to whom is in {@code SlotQueueTest}. */
class WaiterQueueTest {
  private final List<Grant> grants = new ArrayList<>();
  private @Nullable Error broken;

  private final WaiterQueue queue =
      SlotsProbe.queue(
          (waiter, kept) -> {
            if (broken != null) {
              throw broken;
            }
            return Grant.UNAVAILABLE;
          },
          new RoutingExclusions(1));

  private final WaiterOwner waiter =
      new Asking(1) {
        @Override
        public void onGranted(Grant grant) {
          grants.add(grant);
        }
      };

  @Test
  void aRoundThatFailsIsToldAndLeavesThePumpToTheNext() {
    broken = new StackOverflowError();
    queue.tryAdmit(-1);
    queue.join(waiter, queue.nextSequence());
    assertThatThrownBy(queue::pump).isSameAs(broken);
    broken = null;

    queue.pump();

    assertThat(grants).containsExactly(Grant.UNAVAILABLE);
    assertThat(queue.size()).isZero();
  }

  @Test
  void whoWasServedIsLetGoOf() {
    queue.tryAdmit(-1);
    Waiter served = queue.join(waiter, queue.nextSequence());
    queue.pump();
    assertThat(grants).hasSize(1);
    assertThat(served.after).isSameAs(served);
  }

  @Test
  void oneSearchServesTheWaitersOfALimitWithoutRoom() {
    List<String> searches = new ArrayList<>();
    Set<String> known = new HashSet<>(Set.of("full"));
    WaiterQueue limits =
        SlotsProbe.queue(
            new GrantSource() {
              @Override
              public @Nullable Grant grantFor(WaiterOwner owner, @Nullable RoutedReplica kept) {
                searches.add(owner.limit());
                return owner.limit().isEmpty() ? Grant.UNAVAILABLE : null;
              }

              @Override
              public boolean isLimited(String limit) {
                return known.contains(limit);
              }
            },
            new RoutingExclusions(1));
    for (String limit : List.of("full", "full", "", "full", "new", "new")) {
      limits.tryAdmit(-1);
      limits.join(limited(limit), limits.nextSequence());
    }
    limits.pump();
    assertThat(searches).containsExactly("full", "", "new");

    known.add("new");
    limits.arrange(); // a slot may be free that has no room for the first
    assertThat(searches).containsExactly("full", "", "new", "full", "new");
  }

  @Test
  void oneSearchServesTheWaitersOfMoreSlotsThanAreFree() {
    List<Integer> searches = new ArrayList<>();
    WaiterQueue waiters =
        SlotsProbe.queue(
            new GrantSource() {
              @Override
              public @Nullable Grant grantFor(WaiterOwner owner, @Nullable RoutedReplica kept) {
                searches.add(owner.cost());
                return null;
              }

              @Override
              public int mostFree() {
                return 1;
              }
            },
            new RoutingExclusions(1));
    for (int cost : new int[] {9, 8, 7, 2, 9}) {
      waiters.tryAdmit(-1);
      waiters.join(costing(cost), waiters.nextSequence());
      waiters.arrange();
    }
    assertThat(searches).containsExactly(9);
    waiters.pump();
    assertThat(searches).as("once after a slot became free").containsExactly(9, 9);
    for (int cost : new int[] {1, 1, 3}) {
      waiters.tryAdmit(-1);
      waiters.join(costing(cost), waiters.nextSequence());
      waiters.arrange();
    }
    assertThat(searches).containsExactly(9, 9, 1);
  }

  /** The first waiter fits nowhere now, since it accepts the replica no more. */
  @Test
  void slotsAreSetAsideForTheFirstOverdueWaiterThatAReplicaCanHold() {
    List<RoutedReplica> asides = new ArrayList<>();
    SlotLedger ledger = Ledgers.ledger(3, new ManualClock());
    WaiterOwner[] large = {costing(2), costing(3)};
    RoutedReplica[] replica = new RoutedReplica[1];
    WaiterQueue waiters =
        SlotsProbe.queue(
            new GrantSource() {
              @Override
              public @Nullable Grant grantFor(WaiterOwner owner, @Nullable RoutedReplica kept) {
                asides.add(kept);
                return owner.cost() == 1 && kept == null ? Grant.UNAVAILABLE : null;
              }

              @Override
              public long maxOvertakeNanos() {
                return 0;
              }

              @Override
              public @Nullable RoutedReplica replicaFor(
                  WaiterOwner owner, @Nullable RoutedReplica before) {
                return owner == large[0] ? null : replica[0];
              }
            },
            new RoutingExclusions(1));
    replica[0] = QueueFixture.replica(ledger, waiters);
    for (WaiterOwner each :
        List.of(large[0], large[1], costing(1), costing(1), costing(1), costing(1))) {
      waiters.tryAdmit(-1);
      waiters.join(each, waiters.nextSequence());
      waiters.arrange();
    }
    waiters.pump();
    assertThat(asides).endsWith(replica[0]);
    assertThat(waiters.size()).as("the last small ones wait").isBetween(3, 5);
    assertThat(ledger.tryAcquire(new AttemptId(1, 0, 1), 1)).isEqualTo(Refusal.FULL);
  }

  private static WaiterOwner costing(int cost) {
    return new Asking(1) {
      @Override
      public int cost() {
        return cost;
      }
    };
  }

  private WaiterOwner limited(String limit) {
    return new Asking(1) {
      @Override
      public String limit() {
        return limit;
      }
    };
  }
}
