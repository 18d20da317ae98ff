package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
      new WaiterQueue(
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
        new WaiterQueue(
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

  private WaiterOwner limited(String limit) {
    return new Asking(1) {
      @Override
      public String limit() {
        return limit;
      }
    };
  }
}
