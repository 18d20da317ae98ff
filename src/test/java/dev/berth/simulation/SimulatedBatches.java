package dev.berth.simulation;

import dev.berth.api.BatchItem;
import dev.berth.api.Request;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.replica.BatchedProbe;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.batch.BatchProbe;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Batches of a run: their rules, which change live, and the claims about each that starts. */
final class SimulatedBatches {
  /** Headers of which a batch may have to share the values. */
  private static final List<String> SAME = List.of("x-model", "x-user");

  private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Time within which a change has reached every instance. */
  private static final long SPREAD_NANOS = 40 * MS;

  /** What a timer's task waits for its loop, which is not stalled. */
  private static final long TIMER_NANOS = MS;

  /** Wait at a replica of a request that is cancelled before its batch starts. */
  private static final long LONGEST_NANOS = 5_000 * MS; // behind slow batches

  private static final int MAX_WAIT_MS = 20;

  private record InForce(BatchSettings rules, long fromNanos) {}

  /** A request with a seat, or at a replica, that has not started. */
  private record Joined(String replicaId, long nanos) {}

  /** Every start of a replica: requests still reach one that was killed. */
  private final List<SimulatedController.Incarnation> replicas = new ArrayList<>();

  private final Simulation on;
  private final SplittableRandom random;
  private final List<InForce> history = new ArrayList<>();
  private final Map<String, Joined> joined = new HashMap<>(); // by request
  private final Set<String> seated = new HashSet<>(); // requests on their way to their seat
  private final Map<String, Integer> running = new HashMap<>(); // batches, by replica
  private final Set<String> started = new HashSet<>(); // requests

  SimulatedBatches(Simulation on) {
    this.on = on;
    this.random = on.world.randomness();
    history.add(new InForce(draw(), 0));
  }

  private BatchSettings draw() {
    return new BatchSettings(
        1 + random.nextInt(8),
        random.nextInt(MAX_WAIT_MS + 1) * MS,
        1 + random.nextInt(3),
        random.nextInt(3) == 0,
        random.nextInt(3) == 0 ? 6 + random.nextInt(20) : Integer.MAX_VALUE,
        random.nextInt(3) == 0 ? 10_000 + random.nextInt(100_000) : Long.MAX_VALUE,
        random.nextInt(3) == 0 ? List.of(2, 4) : List.of(),
        random.nextBoolean() ? List.of() : List.of(SAME.get(random.nextInt(SAME.size()))));
  }

  BatchSettings rules() {
    return history.get(history.size() - 1).rules;
  }

  // --- live changes ---

  /** Changes every key, at each router and replica a little later. */
  void change() {
    history.add(new InForce(draw(), on.world.elapsedNanos()));
    on.world.note("rules", rules().toString());
    boolean removed = random.nextInt(8) == 0; // of the routers: replicas keep the last rules
    for (SimulatedInstance each : on.instances) {
      soon(() -> configure(each, removed ? null : rules()));
    }
    for (SimulatedController.Incarnation each : replicas) {
      soon(() -> configure(each));
    }
  }

  /** A replica has started, maybe with rules from before a change. */
  void started(SimulatedController.Incarnation incarnation) {
    replicas.add(incarnation);
    if (on.batching) {
      configure(incarnation);
    }
  }

  private void configure(SimulatedController.Incarnation incarnation) {
    SimulatedInstance at = incarnation.seat.instance;
    Replica replica = incarnation.replica;
    if (!at.crashed()) {
      replica.configure(replica.slots().maxOngoing(), limits(at), Replicas.HEALTH_CHECKS);
    }
  }

  private void soon(Runnable task) {
    on.world.after(random.nextLong(SPREAD_NANOS), "rules", task);
  }

  void configure(SimulatedInstance instance, @Nullable BatchSettings rules) {
    if (!instance.crashed()) {
      RouterSettings now = instance.router.settings();
      instance.router.configure(RoutingProbe.batching(now, rules));
    }
  }

  ReplicaLimits limits(SimulatedInstance instance) {
    ReplicaLimits of = instance.limits;
    return of.withOwn(
        of.cancelGraceNanos(), of.maxZombieRequests(), of.maxBufferedBodyBytes(), "/", rules());
  }

  // --- requests ---

  /** A request with headers, some of which it shares with others. */
  static Request marked(Request request, String requestId) {
    int drawn = Math.floorMod(requestId.hashCode() * 7, 9);
    Request with = drawn < 6 ? request.withHeader("x-model", "m" + drawn / 3) : request;
    return with.withHeader("x-user", "m" + drawn % 2);
  }

  static int itemsOf(String requestId) {
    return 1 + Math.floorMod(requestId.hashCode(), 8);
  }

  /** A request got a seat in a batch that its router opened. */
  void seated(Op op, String replicaId) {
    seated.add(op.requestId);
    joined.put(op.requestId, new Joined(replicaId, on.world.elapsedNanos()));
    on.coverage.seen(Transition.BATCH_SEAT);
  }

  /** A request has reached its replica, to start with a batch. */
  void joined(String requestId, String replicaId) {
    Joined seat = seated.remove(requestId) ? joined.get(requestId) : null;
    if (seat != null && seat.replicaId.equals(replicaId)) {
      on.coverage.seen(Transition.BATCH_SEAT_TAKEN);
    } else { // or another replica refused it
      on.coverage.seen(Transition.BATCH_LOOSE);
      joined.put(requestId, new Joined(replicaId, on.world.elapsedNanos()));
    }
  }

  // --- claims ---

  /** A batch starts: each of its requests for the first time, and within rules of its time. */
  void start(String replicaId, List<BatchItem> items) {
    long opened = Long.MAX_VALUE;
    long waited = Long.MAX_VALUE; // since when its first request waits
    Set<SimulatedInstance> nodes = new HashSet<>();
    for (BatchItem each : items) {
      String id = each.context().requestId();
      Joined here = joined.remove(id);
      on.world.failIf(!started.add(id), () -> id + ": in a second started batch");
      if (here == null || !here.replicaId.equals(replicaId)) {
        throw on.world.fail(id + ": in a batch of " + replicaId + ", but joined " + here);
      }
      opened = Math.min(opened, here.nanos);
      Op op = on.workload.find(id);
      waited = Math.min(waited, arrivalOf(op));
      nodes.add(op.at);
    }
    String what = replicaId + ": batch of " + items.stream().map(SimulatedBatches::id).toList();
    BatchSettings own = BatchedProbe.rules(items.get(0).context());
    if (!inForce(Math.min(waited, cancelledSince(replicaId))).contains(own)) {
      throw on.world.fail(what + " has rules that none of its requests met: " + own);
    }
    if (!fits(own, items)) {
      throw on.world.fail(what + " is beyond its bounds: " + own);
    }
    if (inForce(waited).stream().noneMatch(rules -> isEqual(rules.same(), items))) {
      throw on.world.fail(what + " mixes requests that are not the same: " + inForce(waited));
    }
    int now = running.merge(replicaId, 1, Integer::sum);
    int most = inForce(opened).stream().mapToInt(BatchSettings::maxConcurrent).max().orElseThrow();
    on.world.failIf(now > most, () -> what + " is one of " + now + " at a time");
    on.coverage.seen(Transition.BATCH_STARTED);
    on.coverage.seen(Transition.BATCH_OF_SEVERAL_NODES, nodes.size() > 1 ? 1 : 0);
    on.coverage.seen(Transition.BATCH_FULL, items.size() == rules().maxSize() ? 1 : 0);
    on.coverage.seen(Transition.BATCH_BESIDE_ANOTHER, now > 1 ? 1 : 0);
  }

  private long arrivalOf(Op op) {
    return on.world.elapsedNanos() - (on.world.getAsLong() - op.arrivedNanos());
  }

  /**
   * The first arrival of a cancelled request that may have been the first of a batch; a batch keeps
   * its rules.
   */
  private long cancelledSince(String replicaId) {
    long now = on.world.elapsedNanos();
    return joined.entrySet().stream()
        .filter(each -> each.getValue().replicaId.equals(replicaId))
        .filter(each -> now - each.getValue().nanos < LONGEST_NANOS)
        .map(each -> on.workload.find(each.getKey()))
        .filter(op -> !op.active())
        .mapToLong(this::arrivalOf)
        .min()
        .orElse(now);
  }

  void end(String replicaId) {
    running.merge(replicaId, -1, Integer::sum);
  }

  private static String id(BatchItem item) {
    return item.context().requestId();
  }

  /** Rules that were in force somewhere from a time until now. */
  private List<BatchSettings> inForce(long fromNanos) {
    List<BatchSettings> found = new ArrayList<>();
    for (int i = history.size() - 1; i >= 0; i--) {
      found.add(history.get(i).rules);
      if (history.get(i).fromNanos + SPREAD_NANOS < fromNanos) {
        break; // it was everywhere before
      }
    }
    return found;
  }

  private static boolean fits(BatchSettings rules, List<BatchItem> items) {
    return items.size() <= rules.maxSize()
        && (items.size() == 1
            || sum(items, each -> itemsOf(id(each))) <= rules.maxItems()
                && sum(items, each -> each.request().bytes().length()) <= rules.maxBytes());
  }

  private static long sum(List<BatchItem> items, ToLongFunction<BatchItem> size) {
    return items.stream().mapToLong(size).sum();
  }

  private static boolean isEqual(List<String> same, List<BatchItem> items) {
    return same.stream()
        .allMatch(
            name ->
                items.stream()
                        .map(each -> String.valueOf(each.request().headers().get(name)))
                        .collect(Collectors.toSet())
                        .size()
                    == 1);
  }

  /**
   * Whether a replica must grant a waiter that has as many free slots there: its method runs alone,
   * or the window is over and a batch can start.
   */
  boolean isDue(SimulatedInstance at, Object request, Replica replica) {
    BatchSettings rules = at.router.settings().batching();
    if (rules == null || RoutingProbe.batchKey(request) == null) {
      return true;
    }
    long over = RoutingProbe.windowEndNanos(request) + TIMER_NANOS;
    return over - on.world.getAsLong() < 0
        && isTimed(at)
        && BatchProbe.hasPlace(seats(at, replica));
  }

  /** The state of a replica's batches, for a failure's report. */
  String text(SimulatedController.Incarnation at) {
    BatchSeats seats = at.seat.instance.host.batchesOf(at.replica.address());
    return seats == null ? "" : BatchProbe.text(seats);
  }

  /** Whether the loop with the timer of a window runs: each other one is known to be blocked. */
  private boolean isTimed(SimulatedInstance at) {
    List<SimulatedLoop> awake = at.loops.stream().filter(this::wasAwake).toList();
    return !awake.isEmpty()
        && at.loops.stream()
            .allMatch(each -> awake.contains(each) || at.isBlocked(at.loops.indexOf(each)));
  }

  private boolean wasAwake(SimulatedLoop loop) {
    return loop.stalledUntilNanos() + TIMER_NANOS < on.world.elapsedNanos();
  }

  private static BatchSeats seats(SimulatedInstance at, Replica replica) {
    return Objects.requireNonNull(at.host.batchesOf(replica.address()));
  }

  /** No loose request waits beyond its window beside a batch that could start. */
  void check(SimulatedController.Incarnation at) {
    SimulatedInstance instance = at.seat.instance;
    BatchSeats seats = instance.host.batchesOf(at.replica.address());
    if (seats != null && !at.stopped && !instance.crashed() && BatchProbe.hasPlace(seats)) {
      long since = BatchProbe.looseSince(seats, on.world.getAsLong(), TIMER_NANOS);
      long age = on.world.getAsLong() - since;
      on.world.failIf(
          age > MAX_WAIT_MS * MS + TIMER_NANOS && wasAwake(at.loop()),
          () -> "%s: loose for %d us".formatted(at.replica.replicaId(), age / 1_000));
    }
  }

  void checkAtEnd(SimulatedController.Incarnation at) {
    BatchSeats seats = at.seat.instance.host.batchesOf(at.replica.address());
    on.world.failIf(
        seats != null && (seats.isBusy() || BatchProbe.waiting(seats) > 0),
        () -> at.replica.replicaId() + ": a batch at the end");
  }
}
