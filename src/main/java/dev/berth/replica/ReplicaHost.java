package dev.berth.replica;

import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.InstanceDependencies;
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
import java.util.OptionalInt;
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
 * sweeps their leases. Thread-safe.
 */
public final class ReplicaHost implements ReplicaDirectory {
  private final InstanceDependencies instance;
  private volatile HandlerPorts ports;
  private final ReplicaLimits limits;
  private final LedgerLimits ledgerLimits;

  private final HealthCheckWheel wheel = new HealthCheckWheel();

  /** Age of a task, in nanoseconds, from which its loop counts as stuck and is not awaited. */
  static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Set<Integer> blockedLoops = ConcurrentHashMap.newKeySet();
  // blocked loops, by index
  private final Map<Integer, BlockedLoop> looked = new ConcurrentSkipListMap<>();

  /** Replicas by ordinal; the array is replaced at each start and stop. */
  private volatile @Nullable Replica[] replicas = new Replica[0];

  /**
   * @param instance the instance of the replicas
   * @param ports dependencies of the handlers
   */
  public ReplicaHost(
      InstanceDependencies instance,
      HandlerPorts ports,
      ReplicaLimits limits,
      LedgerLimits ledgerLimits) {
    this.instance = instance;
    this.ports = ports;
    this.limits = limits;
    this.ledgerLimits = ledgerLimits;
  }

  /** Sets the listener of replicas that start later. */
  public void tell(ReplicaListener listener) {
    ports = new HandlerPorts(ports.hooks(), ports.threads(), listener);
  }

  /**
   * A replica whose handlers are being created.
   *
   * @param replica the replica
   * @param running completes when the replica accepts requests; fails with the exception of the
   *     factory or a hook, or with a {@link java.util.concurrent.TimeoutException}
   * @param over completes when no user code of the start runs any longer, which may be later
   */
  public record StartingReplica(Replica replica, Future<Replica> running, Future<Void> over) {}

  /**
   * Starts a replica: creates the handlers and runs their hooks off the loop, then accepts
   * requests.
   *
   * @param seats one seat, or one per loop for a spread replica; the first loop is its address
   */
  public StartingReplica begin(ReplicaSpec spec, List<ReplicaLoopBinding> seats) {
    if (seats.isEmpty()) {
      throw new IllegalArgumentException("seats: 0 (expected: >= 1)");
    }
    List<ReplicaLoopBinding> seated = List.copyOf(seats);
    Replica replica = place(spec, seated);
    ReplicaStart start = new ReplicaStart(spec, seated, replica, instance, ports);
    replica.starts(start);
    wheel.touch(replica);
    start.queue();
    return new StartingReplica(replica, start.running.future(), start.over.future());
  }

  private synchronized Replica place(ReplicaSpec spec, List<ReplicaLoopBinding> seats) {
    @Nullable Replica[] before = replicas;
    int free = Arrays.asList(before).indexOf(null);
    int ordinal = free < 0 ? before.length : free;
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
  public @Nullable BatchSeats batchesOf(ReplicaAddress address) {
    Replica replica = find(address);
    return replica == null || replica.batches == null ? null : replica.batches.table;
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
   * Starts the health checks that are due, ends late ones, and logs slow starts. Called by one
   * thread at a time. The cost depends on the due replicas, not on all.
   *
   * @return nanoseconds until the next call is needed, if {@link #onTouch} reports no earlier one
   */
  public long tick() {
    return wheel.turn(instance.nanoClock().getAsLong());
  }

  /** Sets the listener of replicas that need a tick soon. Any thread calls it. */
  public void onTouch(Runnable listener) {
    wheel.woken = listener;
  }

  /**
   * Returns the started replicas that have not stopped, and stopped ones with slots still in use.
   */
  public List<Replica> replicas() {
    return Arrays.stream(replicas)
        .flatMap(Stream::ofNullable)
        .filter(Replica::isOfInterest)
        .toList();
  }

  /**
   * Expires leases, forgets old attempts, samples the slots in use, and audits the ledgers, for one
   * share of the replicas per call. Thousands of idle replicas thus cost little at a high call
   * rate. Replicas of the other shares are swept if they have leases, and audited if they never
   * were. Call from one thread at a steady rate, so that each share has its turn at least about
   * once per second.
   *
   * @param turn number of the call, which rises by one
   * @param shares number of calls after which every replica had its turn
   * @param mismatch receives each mismatch when it is found or has changed
   * @return whether slots are reserved, by leases that may expire
   */
  public boolean sweep(int turn, int shares, Consumer<LedgerView> mismatch) {
    @Nullable Replica[] all = replicas;
    int now = Math.floorMod(turn, shares);
    boolean leases = false;
    for (int place = 0; place < all.length; place++) {
      Replica replica = all[place];
      if (replica == null) {
        continue;
      }
      SlotLedger slots = replica.slots();
      boolean itsTurn = place % shares == now;
      boolean reserved = slots.reserved() > 0;
      leases |= reserved;
      if (itsTurn || reserved) { // only reserved slots have a lease that may expire
        slots.sweep();
      }
      if (itsTurn) {
        SlotLedger slotless = replica.slotless();
        if (slotless != null) {
          slotless.sweep(); // forgets old attempts
        }
        replica.sampleUtilization();
        if (!blockedLoops.isEmpty()) {
          look(replica);
        }
      }
      if ((itsTurn || !slots.audited()) && replica.isOfInterest()) {
        audit(replica, mismatch);
      }
    }
    return leases;
  }

  /**
   * Records that a loop runs no tasks, or runs again, and reports this for the replicas on it. Call
   * from another loop.
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

  /** Returns the first loop from {@code first} on that runs tasks; {@code first} when none does. */
  public int loopFrom(int first) {
    return firstRunning(first).orElse(first);
  }

  private OptionalInt firstRunning(int from) {
    int loops = instance.loops().size();
    return IntStream.range(from, from + loops)
        .map(loop -> loop % loops)
        .filter(loop -> !blockedLoops.contains(loop))
        .findFirst();
  }

  /**
   * Records the block of a loop; null when it runs again. Replicas do not wait for a stuck loop. A
   * replica whose only loop has a lasting block becomes unhealthy while other loops run. Confined
   * to the control loop, once per second.
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

  /** Returns the loops that run no tasks now, by index. */
  public List<BlockedLoop> blockedLoops() {
    return List.copyOf(looked.values());
  }

  /**
   * Notifies remote routers of a blocked or recovered loop, over the links of a loop that runs, if
   * there is one.
   */
  private void look(Replica replica) {
    if (replica.loopBlocked(blockedLoops.contains(replica.address().loop()))) {
      firstRunning(0)
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
