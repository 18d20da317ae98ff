package dev.berth.replica;

import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstancePorts;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The replicas of one instance: starts them, finds their slots for the instance's routers, and
 * sweeps their leases. Any thread.
 */
public final class ReplicaHost implements ReplicaDirectory {
  private final InstancePorts instance;
  private volatile HandlerPorts ports;
  private final ReplicaLimits limits;
  private final LedgerLimits ledgerLimits;

  private final LookWheel wheel = new LookWheel();

  /** Age of a task from which on nothing waits for the loop that does not take it. */
  static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Set<Integer> blockedLoops = ConcurrentHashMap.newKeySet();
  private final Map<Integer, BlockedLoop> looked = new ConcurrentSkipListMap<>(); // at blocked ones

  /** By ordinal; replaced whole with each start and stop. */
  private volatile @Nullable Replica[] replicas = new Replica[0];

  /**
   * @param instance where it is
   * @param ports what handlers are given
   */
  public ReplicaHost(
      InstancePorts instance, HandlerPorts ports, ReplicaLimits limits, LedgerLimits ledgerLimits) {
    this.instance = instance;
    this.ports = ports;
    this.limits = limits;
    this.ledgerLimits = ledgerLimits;
  }

  /** Who is told of the replicas that are started from now on. */
  public void tell(ReplicaListener listener) {
    ports = new HandlerPorts(ports.hooks(), ports.threads(), listener);
  }

  /**
   * A replica whose handlers are being made.
   *
   * @param replica it
   * @param running completes when it takes requests; fails with what the factory or a hook threw,
   *     with a {@link java.util.concurrent.TimeoutException} when that took too long
   * @param over completes when no user code of the start runs any more, which may be later
   */
  public record Starting(Replica replica, Future<Replica> running, Future<Void> over) {}

  /**
   * Makes the handlers and runs their hooks off the loop; then the replica takes requests.
   *
   * @param seats one, or one per loop when the replica is spread; its address is on the first
   */
  public Starting begin(ReplicaSpec spec, List<ReplicaSeat> seats) {
    if (seats.isEmpty()) {
      throw new IllegalArgumentException("seats: 0 (expected: >= 1)");
    }
    List<ReplicaSeat> seated = List.copyOf(seats);
    Replica replica = place(spec, seated);
    ReplicaStart start = new ReplicaStart(spec, seated, replica, instance, ports);
    replica.starts(start);
    wheel.touch(replica);
    start.queue();
    return new Starting(replica, start.running.future(), start.over.future());
  }

  private synchronized Replica place(ReplicaSpec spec, List<ReplicaSeat> seats) {
    @Nullable Replica[] before = replicas;
    int ordinal = 0;
    while (ordinal < before.length && before[ordinal] != null) {
      ordinal++;
    }
    if (ordinal >= ReplicaLoop.MAX_ORDINALS) {
      throw new IllegalStateException(
          "replicas: " + ordinal + " (expected: at most " + ReplicaLoop.MAX_ORDINALS + ")");
    }
    Replica replica = make(spec, seats.get(0).loop().index(), ordinal);
    @Nullable Replica[] after = Arrays.copyOf(before, Math.max(before.length, ordinal + 1));
    after[ordinal] = replica;
    replicas = after;
    return replica;
  }

  private Replica make(ReplicaSpec spec, int loop, int ordinal) {
    return new Replica(
        spec,
        new ReplicaAddress(instance.node(), loop, ordinal, spec.epoch()),
        new SlotLedger(
            spec.epoch(),
            spec.maxOngoing(),
            ledgerLimits,
            instance.nanoClock(),
            instance.secrets()),
        instance,
        ports,
        limits,
        this::remove,
        wheel::touch);
  }

  private synchronized void remove(Replica replica) {
    if (replicas[replica.ordinal()] == replica) {
      @Nullable Replica[] after = replicas.clone();
      after[replica.ordinal()] = null;
      replicas = after;
    }
  }

  @Override
  public @Nullable Slots slotsOf(ReplicaAddress address) {
    Replica replica = find(address);
    return replica == null ? null : replica.slots();
  }

  @Override
  public void observe(ReplicaAddress address, SlotObserver observer) {
    Replica replica = find(address);
    if (replica != null) {
      replica.refused.own(observer);
    }
  }

  private @Nullable Replica find(ReplicaAddress address) {
    @Nullable Replica[] all = replicas;
    int ordinal = address.ordinal();
    Replica replica = ordinal >= 0 && ordinal < all.length ? all[ordinal] : null;
    return replica != null
            && replica.epoch() == address.epoch()
            && replica.state() != ReplicaState.STOPPED
            && instance.node().equals(address.node())
        ? replica
        : null;
  }

  /**
   * Starts the health checks that are due, ends those that take too long, and says which starts
   * take long; to be called several times a second, by one thread at a time. Costs what is due, not
   * what is there.
   */
  public void tick() {
    wheel.turn(instance.nanoClock().getAsLong());
  }

  /** Those that started and have not stopped, and stopped ones whose slots are not all back. */
  public List<Replica> replicas() {
    return Arrays.stream(replicas)
        .flatMap(Stream::ofNullable)
        .filter(Replica::isOfInterest)
        .toList();
  }

  /**
   * Ends leases that ran out, forgets what is old, takes a sample of the slots in use, and audits
   * the ledgers: for one share of the replicas in turn, so that thousands of idle ones cost little
   * though it is called often. Of the others, leases that ran out end too, and a ledger that never
   * was audited is. One thread, so often that each has its turn about once a second or more often,
   * at a steady rate.
   *
   * @param turn rises by one with each call
   * @param shares after so many calls all had their turn
   * @param mismatch told of each mismatch when it is found, or found to have changed
   */
  public void sweep(int turn, int shares, Consumer<LedgerView> mismatch) {
    @Nullable Replica[] all = replicas;
    int now = Math.floorMod(turn, shares);
    for (int place = 0; place < all.length; place++) {
      Replica replica = all[place];
      if (replica == null) {
        continue;
      }
      SlotLedger slots = replica.slots();
      boolean itsTurn = place % shares == now;
      if (itsTurn || slots.reserved() > 0) { // a lease that may run out is a reserved slot
        slots.sweep();
      }
      if (itsTurn) {
        replica.sampleUtilization();
        look(replica);
      }
      if ((itsTurn || !slots.audited()) && replica.isOfInterest()) {
        audit(replica, mismatch);
      }
    }
  }

  /**
   * A loop takes no tasks, or does so again: of the replicas that run on it, reports say so. Not on
   * the loop itself.
   */
  public void loopBlocked(int loop, boolean isBlocked) {
    if (isBlocked ? blockedLoops.add(loop) : blockedLoops.remove(loop)) {
      for (Replica replica : replicas) {
        if (replica != null && replica.address().loop() == loop) {
          look(replica);
        }
      }
    }
  }

  /** Returns the next loop, from one on, that takes tasks; that one when none does. */
  public int loopFrom(int first) {
    int loops = instance.loops().size();
    return IntStream.range(first, first + loops)
        .map(loop -> loop % loops)
        .filter(loop -> !blockedLoops.contains(loop))
        .findFirst()
        .orElse(first);
  }

  /**
   * Notes what blocks a loop; null when it runs again. Replicas wait for a stuck one no longer, and
   * are unhealthy when the block of their only one is lasting, while other loops run. The control
   * loop's, once a second.
   */
  public void loopBlocked(int loop, @Nullable BlockedLoop blocked) {
    if (blocked == null) {
      looked.remove(loop);
    } else {
      looked.put(loop, blocked);
    }
    boolean othersRun = looked.size() < instance.loops().size();
    for (Replica replica : replicas) {
      if (replica != null) {
        replica.loopBlocked(loop, blocked, othersRun);
        replica.passOver(this::isStuck);
      }
    }
  }

  private boolean isStuck(int loop) {
    BlockedLoop blocked = looked.get(loop);
    return blocked != null && blocked.nanos() >= STUCK_NANOS;
  }

  /** The loops that take no tasks now, in their order. */
  public List<BlockedLoop> blockedLoops() {
    return List.copyOf(looked.values());
  }

  /** What goes elsewhere goes by the links of a loop: of one that runs, if there is one. */
  private void look(Replica replica) {
    if (replica.loopBlocked(blockedLoops.contains(replica.address().loop()))) {
      IntStream.range(0, instance.loops().size())
          .filter(loop -> !blockedLoops.contains(loop))
          .findFirst()
          .ifPresent(runs -> instance.loops().get(runs).loop().execute(replica::tellLoad));
    }
  }

  private static void audit(Replica replica, Consumer<LedgerView> mismatch) {
    int known = replica.view().lastAudit().findings();
    replica.slots().audit();
    LedgerView after = replica.view();
    if (after.lastAudit().findings() > known) {
      mismatch.accept(after);
    }
  }
}
