package dev.berth.routing.slots;

import dev.berth.fakes.Effort;
import dev.berth.fakes.Interleavings;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.port.SlotLease;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.view.LedgerView;
import java.util.List;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The waiter queue, its pump and a real ledger under every interleaving that Lincheck tries. When
 * all threads are done, whatever they did, no one waits beside a free slot, everyone who left the
 * queue left it once, and every slot is accounted for.
 */
@Tag("lincheck")
class WaiterQueueLincheckTest {
  private static ModelCheckingOptions options() {
    return Interleavings.options().sequentialSpecification(AnythingGoes.class);
  }

  /** Only the scenarios that are added. */
  private static ModelCheckingOptions encounters(int invocations) {
    return options().iterations(0).invocationsPerIteration(Effort.times(invocations));
  }

  @Test
  void noWakeUpIsLostAndNoSlotEither() {
    options()
        .threads(3)
        .actorsPerThread(2)
        .actorsBefore(1)
        .actorsAfter(0)
        .iterations(Effort.times(2))
        .invocationsPerIteration(200)
        .check(QueueOperations.class);
  }

  /** The encounters that a queue is lost by, each tried to a greater depth. */
  @Test
  void noWakeUpIsLostWhereACompletionMeetsAnArrivalOrACancel() {
    encounters(400)
        .addCustomScenario(scenario("ask 0", "goOn 0", "ask 1"))
        .addCustomScenario(scenario("ask 0, ask 1", "goOn 0", "leave 1", "ask 2"))
        .check(QueueOperations.class);
  }

  /**
   * A round that found nothing free says so for who came meanwhile, and for no longer than true.
   */
  @Test
  void whatARoundFoundIsNotTakenForTrueWhenASecondSlotIsFreed() {
    encounters(150)
        .addCustomScenario(scenario("ask 0, ask 1, ask 2", "goOn 0", "goOn 1", "ask 3"))
        .addCustomScenario(scenario("ask 0, ask 1, ask 2", "goOn 0", "leave 2", "ask 3"))
        .check(TwoSlots.class);
  }

  /** Those on odd loops are passed over while these are blocked, and not for longer. */
  @Test
  void noWakeUpIsLostWhereALoopBlocksOrRunsAgain() {
    encounters(150)
        .addCustomScenario(scenario("ask 0, ask 1, block 0", "goOn 0", "heal 1", "ask 2"))
        .addCustomScenario(scenario("ask 0, ask 1", "goOn 0", "block 1", "ask 2"))
        .check(QueueOperations.class);
  }

  /** The atom of it all: of a grant, a cancel and an expiry one ends the wait, and no other. */
  @Test
  void whoeverIsFirstEndsAWait() {
    Interleavings.options()
        .threads(3)
        .actorsPerThread(1)
        .actorsBefore(0)
        .actorsAfter(0)
        .iterations(Effort.times(2))
        .invocationsPerIteration(100)
        .sequentialSpecification(WaiterModel.class)
        .check(WaiterOperations.class);
  }

  /** What was before, and what each thread does: "operation thread, …". */
  private static ExecutionScenario scenario(String before, String... threads) {
    return Interleavings.scenario(QueueOperations.class, before, List.of(threads), "");
  }

  /** One slot; each thread asks, takes what it was granted, completes, and changes its mind. */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class QueueOperations {
    private static final int THREADS_MAX = 8;

    private final int slots;
    private final SlotLedger ledger;
    private final RoutingExclusions blocked = new RoutingExclusions(2);
    private final WaiterQueue queue = SlotsProbe.queue(this::hold, blocked);
    private final LocalReplica replica;
    private final Asker[] askers = new Asker[THREADS_MAX];

    public QueueOperations() {
      this(1);
    }

    QueueOperations(int slots) {
      this.slots = slots;
      ledger = Ledgers.ledger(slots, new ManualClock());
      replica = QueueFixture.replica(ledger, queue);
      ledger.observe(replica);
      for (int i = 0; i < THREADS_MAX; i++) {
        askers[i] = new Asker(i % 2, blocked);
      }
    }

    private @Nullable Grant hold(WaiterOwner owner, @Nullable RoutedReplica kept) {
      SlotLease lease = ledger.hold(owner.holdNanos());
      return lease == null ? null : new Grant(replica, lease, null);
    }

    /** As a request does: the slot at once, or a place and then the pump. */
    @Operation
    public void ask(@Param(name = "thread") int thread) {
      Asker asker = askers[thread];
      if (asker.waiter != null || asker.running) {
        return;
      }
      if (!queue.hasTakersOr(asker.loop) && ledger.tryAcquire()) {
        asker.running = true;
        return;
      }
      if (queue.tryAdmit(-1)) {
        asker.admitted++;
        asker.waiter = queue.join(asker, queue.nextSequence());
        queue.arrange();
      }
    }

    /** Takes a granted slot, as the task on the waiter's own loop does; else completes. */
    @Operation
    public void goOn(@Param(name = "thread") int thread) {
      Asker asker = askers[thread];
      Grant grant = asker.grant;
      if (grant != null) {
        asker.grant = null;
        asker.waiter = null;
        if (grant.lease().consume() == null) {
          asker.running = true;
        }
      } else if (asker.running) {
        asker.running = false;
        if (!replica.completing(ledger, 1)) {
          ledger.complete();
        }
      }
    }

    /** Its caller cancels, or its deadline passes. */
    @Operation
    public void leave(@Param(name = "thread") int thread) {
      Asker asker = askers[thread];
      Waiter waiter = asker.waiter;
      if (waiter == null) {
        return;
      }
      if (queue.leave(waiter)) {
        asker.waiter = null;
      } else if (asker.grant != null) { // granted before: it goes back, as to one that is gone
        Grant grant = asker.grant;
        asker.grant = null;
        asker.waiter = null;
        grant.giveBack(new Asking(0) {});
      }
    }

    /** As the routers do, but for the set of replicas. Only where a scenario names it. */
    public void block(int thread) {
      told(true);
    }

    public void heal(int thread) {
      told(false);
    }

    private void told(boolean isBlocked) {
      if (blocked.set(1, isBlocked)) {
        queue.pump();
      }
    }

    @Validate
    public void nobodyWaitsBesideAFreeSlot() {
      int owned = 0;
      int waiting = 0;
      for (Asker asker : askers) {
        boolean granted = asker.grant != null;
        owned += (asker.running ? 1 : 0) + (granted ? 1 : 0);
        waiting += asker.waiter != null && asker.waiter.waiting() ? 1 : 0;
        int inQueue = asker.waiter != null && asker.waiter.waiting() ? 1 : 0;
        require(asker.left + inQueue == asker.admitted, "left once: " + asker);
      }
      require(queue.size() == waiting, "size: " + queue.size() + " waiting: " + waiting);
      require(ledger.ongoing() == owned, "ongoing: " + ledger.ongoing() + " owned: " + owned);
      require(ledger.audit() == LedgerView.Audit.CLEAN, "audit: " + ledger.view("r", 0));
      require(
          !queue.hasTakers() || ledger.ongoing() == slots,
          "waiting beside a free slot: " + waiting);
    }

    private static void require(boolean held, String otherwise) {
      if (!held) {
        throw new IllegalStateException(otherwise);
      }
    }
  }

  /** The same, of two slots. */
  public static class TwoSlots extends QueueOperations {
    public TwoSlots() {
      super(2);
    }
  }

  /** A thread's request. */
  private static final class Asker extends Asking {
    final int loop;
    private final RoutingExclusions blocked;
    @Nullable Waiter waiter;
    volatile @Nullable Grant grant;
    volatile int left;
    int admitted;
    boolean running;

    Asker(int loop, RoutingExclusions blocked) {
      super(1L << 40);
      this.loop = loop;
      this.blocked = blocked;
    }

    @Override
    public int loopIndex() {
      return loop;
    }

    @Override
    public boolean paused() {
      return blocked.contains(loop);
    }

    @Override
    public void onGranted(Grant given) {
      grant = given;
    }

    @Override
    public void onLeftQueue() {
      left++;
    }

    @Override
    public String toString() {
      return "admitted " + admitted + ", left " + left;
    }
  }

  /** Operations return nothing; what counts is the state they leave. */
  public static class AnythingGoes {
    public void ask(int thread) {}

    public void goOn(int thread) {}

    public void leave(int thread) {}

    public void block(int thread) {}

    public void heal(int thread) {}
  }

  /** One waiter, and everyone who may end its wait. */
  public static class WaiterOperations {
    private final Waiter waiter = new Waiter(new Asker(0, new RoutingExclusions(1)), 1);

    @Operation
    public boolean end() {
      return waiter.end();
    }
  }

  /** The first one wins. */
  public static class WaiterModel {
    private boolean ended;

    public boolean end() {
      boolean first = !ended;
      ended = true;
      return first;
    }
  }
}
