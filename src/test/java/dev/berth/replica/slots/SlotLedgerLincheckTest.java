package dev.berth.replica.slots;

import dev.berth.fakes.Effort;
import dev.berth.fakes.Interleavings;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.ReserveResult;
import dev.berth.view.LedgerView;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Every interleaving that Lincheck tries of a few operations must be explained by some sequential
 * order of a plain model. Three models: what threads do with slots of their own, what they do while
 * the max changes, and what they do to one lease that all of them know.
 *
 * <p>Deliberately outside the models: a lease is over an instant before its slot is free (see the
 * ledger's class comment), so a thread that sees another's lease end may still find the ledger
 * full. The slot models therefore give each thread leases of its own, and the lease model counts no
 * slots; {@code LeaseRaceTest} has the two together.
 */
@Tag("lincheck")
class SlotLedgerLincheckTest {
  private static final long FOREVER = 1L << 40;

  private static ModelCheckingOptions options(int threads, int actors, int iterations) {
    return Interleavings.options()
        .threads(threads)
        .actorsPerThread(actors)
        .actorsBefore(2)
        .actorsAfter(1)
        .iterations(Effort.times(iterations))
        .invocationsPerIteration(150);
  }

  @Test
  void threeThreadsSeeOneOrderOfGrantsAndEnds() {
    options(3, 2, 3).sequentialSpecification(SlotModel.class).check(SlotOperations.class);
  }

  /** Of three slots, each grant takes one or two in one step, and each end frees as many. */
  @Test
  void threadsSeeOneOrderOfGrantsOfSeveralSlots() {
    options(2, 3, 6).sequentialSpecification(LargeModel.class).check(LargeOperations.class);
  }

  /**
   * Where one of two slots is in use, whoever asks for one during these changes must get it: there
   * is a free slot before them, between them and after them.
   */
  @Test
  void twoThreadsSeeOneOrderWhileTheMaxChanges() {
    options(2, 3, 3)
        .addCustomScenario(
            Interleavings.scenario(
                ChangingMaxOperations.class,
                "acquire 0",
                List.of("complete 0, setMax 1", "acquire 1"),
                ""))
        .addCustomScenario(
            Interleavings.scenario(
                ChangingMaxOperations.class,
                "acquire 0",
                List.of("setMax 0, setMax 1", "complete 0, acquire 1"),
                "ongoing"))
        .sequentialSpecification(ChangingMaxModel.class)
        .check(ChangingMaxOperations.class);
  }

  /** A handler closes and opens while the configuration changes. */
  @Test
  void gateThatTwoThreadsMoveEndsInTheLastStateAndNotifiesTheRefused() {
    options(3, 1, 0)
        .addCustomScenario(
            Interleavings.scenario(
                GateOperations.class,
                "",
                List.of("close", "open", "arrive"),
                "contradicts, forgets"))
        .addCustomScenario(
            Interleavings.scenario(
                GateOperations.class,
                "close",
                List.of("open", "configure, close"),
                "contradicts, forgets"))
        .addCustomScenario(
            Interleavings.scenario(
                GateOperations.class, "", List.of("raise", "lower", "arrive"), "forgets"))
        .sequentialSpecification(GateModel.class)
        .check(GateOperations.class);
  }

  @Test
  void threeThreadsSeeOneEndOfALeaseTheyShare() {
    options(3, 2, 5)
        .actorsBefore(0)
        .sequentialSpecification(SharedLeaseModel.class)
        .check(SharedLeaseOperations.class);
  }

  /** Never less than it had, which a deadline not yet written would make of it. */
  @Test
  void aRenewalBesideADrainLastsToTheDrainsDeadlineOrIsOfBefore() {
    options(2, 1, 0)
        .addCustomScenario(
            Interleavings.scenario(
                DrainedLeaseOperations.class, "", List.of("drain", "renew"), "lasts"))
        .sequentialSpecification(DrainedLeaseModel.class)
        .check(DrainedLeaseOperations.class);
  }

  // --- slots of one's own ---

  /** Two slots, and threads that each remember what of it they run on. */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class Requests {
    static final int THREADS_MAX = 8;

    final SlotLedger ledger = Ledgers.ledger(2, new ManualClock());
    final int[] running = new int[THREADS_MAX];

    @Operation
    public boolean acquire(@Param(name = "thread") int thread) {
      boolean granted = ledger.tryAcquire();
      running[thread] += granted ? 1 : 0;
      return granted;
    }

    @Operation
    public boolean complete(@Param(name = "thread") int thread) {
      if (running[thread] == 0) {
        return false;
      }
      ledger.complete();
      running[thread]--;
      return true;
    }

    @Operation
    public int ongoing() {
      return ledger.ongoing();
    }
  }

  /** The same, with what each thread has reserved. */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class SlotOperations extends Requests {
    private final @Nullable SlotLease[] held = new SlotLease[THREADS_MAX];
    private final @Nullable AttemptId[] attempt = new AttemptId[THREADS_MAX];
    private final long[] attempts = new long[THREADS_MAX];

    @Operation
    public String reserve(@Param(name = "thread") int thread) {
      if (held[thread] != null) {
        return "holds one";
      }
      AttemptId fresh = new AttemptId(1, thread, ++attempts[thread]);
      ReserveResult answer = ledger.reserve(fresh, FOREVER);
      if (answer instanceof ReserveResult.ReserveRefused refused) {
        return refused.reason().name();
      }
      held[thread] = ((ReserveResult.ReserveGranted) answer).lease();
      attempt[thread] = fresh;
      return "granted";
    }

    @Operation
    public boolean consume(@Param(name = "thread") int thread) {
      SlotLease lease = held[thread];
      if (lease == null) {
        return false;
      }
      held[thread] = null;
      attempt[thread] = null;
      Refusal refusal = lease.consume();
      if (refusal != null) {
        throw new IllegalStateException("consume: " + refusal + " (expected: granted)");
      }
      running[thread]++;
      return true;
    }

    @Operation
    public boolean release(@Param(name = "thread") int thread) {
      SlotLease lease = held[thread];
      AttemptId named = attempt[thread];
      if (lease == null) {
        return false;
      }
      held[thread] = null;
      attempt[thread] = null;
      return named == null ? lease.release() : ledger.release(named);
    }

    @Operation
    public boolean handOff(@Param(name = "thread") int thread) {
      if (running[thread] == 0 || held[thread] != null) {
        return false;
      }
      SlotLease next = ledger.completeAndHold(FOREVER);
      if (next == null) {
        return false;
      }
      running[thread]--;
      held[thread] = next;
      return true;
    }

    @Operation(runOnce = true)
    public void drain() {
      ledger.drain(Long.MAX_VALUE);
    }

    @Validate
    public void everySlotIsHeldBySomeone() {
      int owned = 0;
      for (int i = 0; i < THREADS_MAX; i++) {
        owned += running[i] + (held[i] == null ? 0 : 1);
      }
      if (ledger.ongoing() != owned) {
        throw new IllegalStateException(
            "ongoing: " + ledger.ongoing() + " (expected: " + owned + ")");
      }
      if (ledger.audit() != LedgerView.Audit.CLEAN) {
        throw new IllegalStateException("audit: " + ledger.view("r", 0));
      }
    }
  }

  /** What {@link SlotOperations} must look like from outside. */
  public static class SlotModel {
    int max = 2;
    private boolean draining;
    private int ongoing;
    private final int[] running = new int[SlotOperations.THREADS_MAX];
    private final boolean[] held = new boolean[SlotOperations.THREADS_MAX];

    public boolean acquire(int thread) {
      if (draining || ongoing >= max) {
        return false;
      }
      ongoing++;
      running[thread]++;
      return true;
    }

    public boolean complete(int thread) {
      if (running[thread] == 0) {
        return false;
      }
      running[thread]--;
      ongoing--;
      return true;
    }

    public String reserve(int thread) {
      if (held[thread]) {
        return "holds one";
      }
      if (draining) {
        return "DRAINING";
      }
      if (ongoing >= max) {
        return "FULL";
      }
      ongoing++;
      held[thread] = true;
      return "granted";
    }

    public boolean consume(int thread) {
      if (!held[thread]) {
        return false;
      }
      held[thread] = false;
      running[thread]++;
      return true;
    }

    public boolean release(int thread) {
      if (!held[thread]) {
        return false;
      }
      held[thread] = false;
      ongoing--;
      return true;
    }

    public boolean handOff(int thread) {
      if (running[thread] == 0 || held[thread] || draining || ongoing > max) {
        return false;
      }
      running[thread]--;
      held[thread] = true;
      return true;
    }

    public void drain() {
      draining = true;
    }

    public int ongoing() {
      return ongoing;
    }
  }

  // --- several slots at once ---

  /** Three slots, and threads that each have one request of one or two slots at a time. */
  @Param(name = "n", gen = IntGen.class, conf = "1:2")
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class LargeOperations {
    private final SlotLedger ledger = Ledgers.ledger(3, new ManualClock());
    private final int[] running = new int[Requests.THREADS_MAX];
    private final int[] held = new int[Requests.THREADS_MAX];
    private final @Nullable SlotLease[] lease = new SlotLease[Requests.THREADS_MAX];

    @Operation
    public boolean acquire(@Param(name = "thread") int thread, @Param(name = "n") int n) {
      if (running[thread] > 0 || !ledger.tryAcquire(n)) {
        return false;
      }
      running[thread] = n;
      return true;
    }

    @Operation
    public boolean complete(@Param(name = "thread") int thread) {
      if (running[thread] == 0) {
        return false;
      }
      ledger.complete(running[thread]);
      running[thread] = 0;
      return true;
    }

    @Operation
    public boolean hold(@Param(name = "thread") int thread, @Param(name = "n") int n) {
      return held[thread] == 0 && holds(thread, n, ledger.hold(n, FOREVER));
    }

    @Operation
    public boolean handOff(@Param(name = "thread") int thread, @Param(name = "n") int n) {
      boolean may = running[thread] > 0 && held[thread] == 0;
      if (!may || !holds(thread, n, ledger.completeAndHold(running[thread], n, FOREVER))) {
        return false;
      }
      running[thread] = 0;
      return true;
    }

    private boolean holds(int thread, int n, @Nullable SlotLease granted) {
      lease[thread] = granted;
      held[thread] = granted == null ? 0 : n;
      return granted != null;
    }

    @Operation
    public boolean consume(@Param(name = "thread") int thread) {
      if (held[thread] == 0 || running[thread] > 0) {
        return false;
      }
      running[thread] = held[thread];
      held[thread] = 0;
      return Objects.requireNonNull(lease[thread]).consume() == null;
    }

    @Operation
    public boolean release(@Param(name = "thread") int thread) {
      boolean holds = held[thread] > 0;
      held[thread] = 0;
      return holds && Objects.requireNonNull(lease[thread]).release();
    }

    @Operation
    public int ongoing() {
      return ledger.ongoing();
    }

    @Validate
    public void everySlotIsHeldBySomeone() {
      int owned = IntStream.of(running).sum();
      owned += IntStream.of(held).sum();
      if (ledger.ongoing() != owned || ledger.audit() != LedgerView.Audit.CLEAN) {
        throw new IllegalStateException("owned: " + owned + ", ledger: " + ledger.view("r", 0));
      }
    }
  }

  /** What {@link LargeOperations} must look like from outside. */
  public static class LargeModel {
    private final int[] running = new int[Requests.THREADS_MAX];
    private final int[] held = new int[Requests.THREADS_MAX];
    private int ongoing;

    public boolean acquire(int thread, int n) {
      if (running[thread] > 0 || ongoing + n > 3) {
        return false;
      }
      ongoing += n;
      running[thread] = n;
      return true;
    }

    public boolean complete(int thread) {
      ongoing -= running[thread];
      boolean ran = running[thread] > 0;
      running[thread] = 0;
      return ran;
    }

    public boolean hold(int thread, int n) {
      if (held[thread] > 0 || ongoing + n > 3) {
        return false;
      }
      ongoing += n;
      held[thread] = n;
      return true;
    }

    public boolean handOff(int thread, int n) {
      if (running[thread] == 0 || held[thread] > 0 || ongoing - running[thread] + n > 3) {
        return false;
      }
      ongoing += n - running[thread];
      held[thread] = n;
      running[thread] = 0;
      return true;
    }

    public boolean consume(int thread) {
      if (held[thread] == 0 || running[thread] > 0) {
        return false;
      }
      running[thread] = held[thread];
      held[thread] = 0;
      return true;
    }

    public boolean release(int thread) {
      boolean holds = held[thread] > 0;
      ongoing -= held[thread];
      held[thread] = 0;
      return holds;
    }

    public int ongoing() {
      return ongoing;
    }
  }

  // --- a max that changes ---

  /** Requests alone, so that most scenarios have the owner change the max among them. */
  @Param(name = "max", gen = IntGen.class, conf = "0:3")
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class ChangingMaxOperations extends Requests {
    @Operation(nonParallelGroup = "owner")
    public void setMax(@Param(name = "max") int max) {
      ledger.setMaxOngoing(max);
    }
  }

  /** What {@link ChangingMaxOperations} must look like from outside. */
  public static class ChangingMaxModel extends SlotModel {
    public void setMax(int max) {
      this.max = max;
    }
  }

  // --- a gate that threads move ---

  /** A gate of one slot, and a request that waits once it was refused. */
  public static class GateOperations {
    private final SlotLedger ledger = Ledgers.ledger(1, new ManualClock());
    private volatile String told = "";
    private final SlotGate gate = new SlotGate(ledger, text -> told = text);
    private final AtomicInteger freed = new AtomicInteger();
    private volatile int refusedAt = Integer.MAX_VALUE;

    public GateOperations() {
      ledger.observe(slots -> freed.incrementAndGet());
    }

    @Operation
    public void close() {
      gate.close("down", false);
    }

    @Operation
    public void open() {
      gate.open();
    }

    @Operation
    public void configure() {
      gate.configure(2);
    }

    @Operation
    public void raise() {
      ledger.setMaxOngoing(1);
    }

    @Operation
    public void lower() {
      ledger.setMaxOngoing(0);
    }

    @Operation
    public void arrive() {
      int before = freed.get();
      refusedAt = ledger.tryAcquire() ? Integer.MAX_VALUE : before;
    }

    /** Returns whether the ledger, the gate and the last report differ. */
    @Operation
    public boolean contradicts() {
      boolean open = gate.text().isEmpty();
      return ledger.maxOngoing() != (open ? gate.max() : 0) || !told.equals(gate.text());
    }

    /** Returns whether a request waits although a slot is free and no thread will notify it. */
    @Operation
    public boolean forgets() {
      return ledger.maxOngoing() > 0 && freed.get() <= refusedAt && refusedAt != Integer.MAX_VALUE;
    }
  }

  /** Requires that all agree after the last change, and that each waiting request is notified. */
  public static class GateModel {
    public void close() {}

    public void open() {}

    public void configure() {}

    public void raise() {}

    public void lower() {}

    public void arrive() {}

    public boolean contradicts() {
      return false;
    }

    public boolean forgets() {
      return false;
    }
  }

  // --- one lease that all know ---

  /** One reserved slot, its token known to every thread, and a clock that jumps past deadlines. */
  public static class SharedLeaseOperations {
    private static final long TTL = 100;
    private static final AttemptId ATTEMPT = new AttemptId(1, 0, 1);

    private final ManualClock clock = new ManualClock();
    private final SlotLedger ledger = Ledgers.ledger(3, clock);
    private final SlotLease lease =
        ((ReserveResult.ReserveGranted) ledger.reserve(ATTEMPT, TTL)).lease();

    @Operation
    public String consume() {
      return String.valueOf(lease.consume());
    }

    @Operation
    public boolean release() {
      return lease.release();
    }

    @Operation
    public boolean releaseByAttempt() {
      return ledger.release(ATTEMPT);
    }

    @Operation
    public String repeatReserve() {
      return ledger.reserve(ATTEMPT, TTL) instanceof ReserveResult.ReserveRefused refused
          ? refused.reason().name()
          : "same lease";
    }

    @Operation
    public boolean renew() {
      return lease.renew(2 * TTL);
    }

    @Operation
    public String renewByToken() {
      return String.valueOf(ledger.renew(lease.token(), 2 * TTL));
    }

    @Operation
    public boolean active() {
      return lease.active();
    }

    @Operation
    public void passTheDeadline() {
      clock.advanceNanos(TTL);
    }

    @Operation
    public void sweep() {
      ((SlotLedger.Lease) lease).expireIfPast(clock.getAsLong());
    }

    @Validate
    public void theSlotMovedOnce() {
      ledger.audit();
      var view = ledger.view("r", 0);
      long ends = view.released() + view.expired() + view.running() + view.reserved();
      if (view.granted() != 1 || ends != 1 || view.audit() != LedgerView.Audit.CLEAN) {
        throw new IllegalStateException("view: " + view + " (expected: one grant, one end)");
      }
    }
  }

  /** A lease is active until it ends in one way. */
  public static class SharedLeaseModel {
    private static final long TTL = SharedLeaseOperations.TTL;

    private long now;
    private long deadline = TTL;
    private @Nullable Refusal ended;

    private @Nullable Refusal settled() {
      if (ended == null && deadline <= now) {
        ended = Refusal.EXPIRED;
      }
      return ended;
    }

    public String consume() {
      Refusal over = settled();
      if (over == null) {
        ended = Refusal.ALREADY_USED;
      }
      return String.valueOf(over);
    }

    public boolean release() {
      if (ended != null) {
        return false;
      }
      ended = Refusal.RELEASED; // even past the deadline, when no one has found it expired
      return true;
    }

    public boolean releaseByAttempt() {
      return release();
    }

    public String repeatReserve() {
      Refusal over = settled();
      return over == null ? "same lease" : over.name();
    }

    public boolean renew() {
      if (settled() != null) {
        return false;
      }
      deadline = Math.max(deadline, now + 2 * TTL);
      return true;
    }

    public String renewByToken() {
      renew();
      return String.valueOf(ended);
    }

    public boolean active() {
      return settled() == null;
    }

    public void passTheDeadline() {
      now += TTL;
    }

    public void sweep() {
      settled();
    }
  }

  // --- a lease and a drain ---

  /** A lease that is renewed far beyond the deadline of a drain. */
  public static class DrainedLeaseOperations {
    private static final long TTL = 100;
    private static final long GRACE = 3 * TTL;
    private static final long LONG = 10 * TTL;

    private final ManualClock clock = new ManualClock();
    private final SlotLedger ledger = Ledgers.ledger(1, clock);
    private final SlotLease lease = Objects.requireNonNull(ledger.hold(TTL));

    @Operation
    public void drain() {
      ledger.drain(clock.getAsLong() + GRACE);
    }

    @Operation
    public boolean renew() {
      return lease.renew(LONG);
    }

    @Operation
    public long lasts() {
      return lease.deadlineNanos() - clock.getAsLong();
    }
  }

  /** What {@link DrainedLeaseOperations} must look like from outside. */
  public static class DrainedLeaseModel {
    private long longest = DrainedLeaseOperations.LONG;
    private long lasts = DrainedLeaseOperations.TTL;

    public void drain() {
      longest = DrainedLeaseOperations.GRACE;
    }

    public boolean renew() {
      lasts = Math.max(lasts, longest);
      return true;
    }

    public long lasts() {
      return lasts;
    }
  }
}
