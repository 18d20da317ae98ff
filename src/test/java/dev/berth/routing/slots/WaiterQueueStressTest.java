package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.port.SlotLease;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.view.LedgerView;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Threads that ask, take, complete, cancel and expire around one queue and one ledger. Looked at
 * whenever all of them rest: no one waits beside a free slot, grants came in the order of asking,
 * no waiter was granted or left twice, and every slot is held by someone who knows it.
 */
@Tag("concurrency")
class WaiterQueueStressTest {
  private static final int THREADS = 3;
  private static final int SLOTS = 2;
  private static final long SEED = 41;

  private final AtomicLong time = new AtomicLong(); // orders events of different threads
  private final List<Place> grantOrder = new ArrayList<>(); // written by the pump's runner alone
  private final SlotLedger ledger = Ledgers.ledger(SLOTS, new ManualClock());
  private final WaiterQueue queue =
      SlotsProbe.queue(
          (owner, kept) -> {
            SlotLease lease = ledger.hold(owner.holdNanos());
            return lease == null ? null : new Grant(null, lease, null);
          },
          new RoutingExclusions(1));
  private final LocalReplica replica = QueueFixture.replica(ledger, queue);

  /** One wait. */
  private final class Place extends Asking {
    final Worker owner;
    final AtomicInteger grants = new AtomicInteger();
    final AtomicInteger lefts = new AtomicInteger();
    long before; // it began to join
    long after; // it had joined
    @Nullable Waiter waiter;

    Place(Worker owner) {
      super(1L << 40);
      this.owner = owner;
    }

    @Override
    public void onGranted(Grant grant) {
      grants.incrementAndGet();
      grantOrder.add(this);
      owner.inbox.add(grant);
    }

    @Override
    public void onLeftQueue() {
      lefts.incrementAndGet();
    }
  }

  /** One thread and what it has. */
  private final class Worker {
    final SplittableRandom random;
    final ConcurrentLinkedQueue<Grant> inbox = new ConcurrentLinkedQueue<>();
    final List<Place> places = new ArrayList<>(); // of this and the last few rounds
    int running;
    long ended; // waits that were cancelled or expired

    Worker(int index) {
      random = new SplittableRandom(SEED + index);
    }

    void step() {
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> ask();
        case 3, 4 -> end();
        default -> goOn();
      }
    }

    private void ask() {
      if (!queue.hasTakers() && ledger.tryAcquire()) {
        running++;
        return;
      }
      if (!queue.tryAdmit(5)) {
        return;
      }
      Place place = new Place(this);
      places.add(place);
      place.before = time.incrementAndGet();
      place.waiter = queue.join(place, queue.nextSequence());
      place.after = time.incrementAndGet();
      queue.arrange();
    }

    private void end() {
      if (!places.isEmpty()) {
        Waiter any = places.get(random.nextInt(places.size())).waiter;
        ended += queue.leave(any) ? 1 : 0;
      }
    }

    private void goOn() {
      Grant grant = inbox.poll();
      if (grant == null) {
        complete();
      } else if (random.nextInt(4) == 0) {
        grant.giveBack(new Asking(0) {});
      } else if (grant.lease().consume() == null) {
        running++;
      }
    }

    private void complete() {
      if (running > 0) {
        running--;
        if (!replica.completing(ledger, 1)) {
          ledger.complete();
        }
      }
    }
  }

  @Test
  void whateverThreadsDoNoOneWaitsBesideAFreeSlotAndGrantsAreFirstInFirstOut() {
    ledger.observe(replica);
    Worker[] workers = new Worker[THREADS];
    for (int i = 0; i < THREADS; i++) {
      workers[i] = new Worker(i);
    }
    long[] seen = new long[3]; // waits, grants, ends

    Contest.run(
        THREADS,
        Effort.times(20_000),
        new Contest.Round() {
          @Override
          public void act(int contender, int round) {
            for (int i = 0; i < 6; i++) {
              workers[contender].step();
            }
          }

          @Override
          public void check(int round) {
            checkAtRest(workers);
            checkOrder();
            seen[1] += grantOrder.size();
            grantOrder.clear();
            for (Worker worker : workers) {
              worker.places.removeIf(
                  place -> {
                    boolean over = !place.waiter.waiting();
                    if (over) {
                      assertThat(place.lefts.get()).as("left the queue").isEqualTo(1);
                      assertThat(place.grants.get()).as("granted").isLessThanOrEqualTo(1);
                      seen[0]++;
                    }
                    return over;
                  });
            }
          }
        });

    for (Worker worker : workers) {
      seen[0] += worker.places.size(); // they wait still, and are cancelled now
    }
    drain(workers);
    for (Worker worker : workers) {
      seen[2] += worker.ended;
    }
    assertThat(seen[1]).as("grants to waiters").isPositive();
    assertThat(seen[2]).as("waits cancelled or expired").isPositive();
    assertThat(seen[0]).as("every wait ended in a grant or an end").isEqualTo(seen[1] + seen[2]);
    assertThat(queue.handOffs()).as("slots handed over in one step").isPositive();
  }

  private void checkAtRest(Worker[] workers) {
    int owned = 0;
    int waiting = 0;
    for (Worker worker : workers) {
      owned += worker.running + worker.inbox.size();
      for (Place place : worker.places) {
        waiting += place.waiter.waiting() ? 1 : 0;
      }
    }
    assertThat(ledger.ongoing()).as("slots that someone holds").isEqualTo(owned);
    assertThat(queue.size()).as("waiters").isEqualTo(waiting);
    if (waiting > 0) {
      assertThat(ledger.ongoing()).as("slots in use beside %d waiters", waiting).isEqualTo(SLOTS);
    }
    assertThat(ledger.audit()).isEqualTo(LedgerView.Audit.CLEAN);
  }

  /** Whoever had joined before another began to was granted before it. */
  private void checkOrder() {
    long earliestAfter = Long.MAX_VALUE; // of those granted later
    for (int i = grantOrder.size() - 1; i >= 0; i--) {
      Place place = grantOrder.get(i);
      assertThat(place.before)
          .as("joined after one that was granted later")
          .isLessThan(earliestAfter);
      earliestAfter = Math.min(earliestAfter, place.after);
    }
  }

  private void drain(Worker[] workers) {
    for (Worker worker : workers) {
      for (Place place : worker.places) {
        worker.ended += queue.leave(place.waiter) ? 1 : 0;
      }
    }
    for (Worker worker : workers) {
      for (Grant grant = worker.inbox.poll(); grant != null; grant = worker.inbox.poll()) {
        grant.giveBack(new Asking(0) {});
      }
      for (; worker.running > 0; worker.running--) {
        ledger.complete();
      }
    }
    assertThat(queue.isEmpty()).isTrue();
    assertThat(ledger.ongoing()).isZero();
    assertThat(ledger.audit()).isEqualTo(LedgerView.Audit.CLEAN);
  }
}
