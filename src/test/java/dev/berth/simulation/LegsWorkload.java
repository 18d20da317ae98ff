package dev.berth.simulation;

import static dev.berth.simulation.ClusterRun.millis;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Selections;
import dev.berth.fakes.FakeParent;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Callers that want slots of several deployments at once, among some who want one. */
final class LegsWorkload {
  static final long TTL_NANOS = millis(2_000);
  private static final int MOST_LEGS = 4;
  private static final int ARRIVALS = 220;

  /** What askers were told; each must happen somewhere in the suite. */
  enum Outcome {
    ALL_HELD,
    HELD_AT_ONCE,
    REFUSED,
    TIMED_OUT,
    CANCELLED,
    LOST,
    ENDED_SINGLE,
    VANISHED
  }

  /** One who asks; loop-confined, as everything here runs in one thread. */
  final class Asker {
    final String name;
    final SimulatedInstance at;
    final int loop;
    final SimulatedLoop home; // that of its loop
    final List<DeploymentId> wanted;
    final long deadlineNanos; // or Long.MAX_VALUE
    final @Nullable FakeParent parent;
    long askedNanos; // elapsed time; meaningful once asked
    boolean asked;
    boolean answered;

    Asker(String name, SimulatedInstance at, int loop, List<DeploymentId> wanted) {
      this.name = name;
      this.at = at;
      this.loop = loop;
      this.home = at.loops.get(loop);
      this.wanted = wanted;
      this.deadlineNanos =
          rough ? world.getAsLong() + millis(5 + random.nextInt(1_500)) : Long.MAX_VALUE;
      this.parent = rough && random.nextInt(4) == 0 ? new FakeParent() : null;
    }

    private void answer(Outcome outcome) {
      world.failIf(answered, () -> name + ": a second answer, " + outcome);
      answered = true;
      waiting--;
      outcomes.merge(outcome, 1, Integer::sum);
      world.note("answered", name + " " + outcome);
    }

    private void failed(Throwable failure) {
      if (!(failure instanceof BerthException known)) {
        throw world.fail(name + ": a foreign failure", failure);
      }
      Outcome outcome =
          switch (known.kind()) {
            case BACK_PRESSURE -> Outcome.REFUSED;
            case TIMEOUT -> Outcome.TIMED_OUT;
            case CANCELLED -> Outcome.CANCELLED;
            case REPLICA_UNAVAILABLE, RESERVATION_EXPIRED -> Outcome.LOST;
            default -> throw world.fail(name + ": " + known, known);
          };
      if (!rough && !mayBeRefused) {
        throw world.fail(name + ": " + wanted + " failed without a fault", failure);
      }
      answer(outcome);
    }

    boolean mayBeRefused; // it does not wait

    @Override
    public String toString() {
      return name + " at " + home + " wants " + wanted;
    }
  }

  private final World world;
  private final SplittableRandom random;
  private final List<SimulatedInstance> instances;
  private final List<DeploymentId> deployments;
  private final Map<DeploymentId, Integer> slots;
  private final boolean rough;
  private final Predicate<String> runs;
  private final LongSupplier leaseWay;
  final List<Asker> askers = new ArrayList<>();
  final EnumMap<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
  private final long meanGapNanos;
  int waiting;

  /**
   * @param runs whether a replica was not killed, be that known to its routers or not
   * @param leaseWay the longest way of a renewal or its answer, in nanoseconds: a lease lasts from
   *     when its replica renewed it
   */
  LegsWorkload(
      World world,
      List<SimulatedInstance> instances,
      Map<DeploymentId, Integer> slots,
      boolean rough,
      Predicate<String> runs,
      LongSupplier leaseWay) {
    this.world = world;
    this.random = world.randomness();
    this.instances = instances;
    this.deployments = List.copyOf(slots.keySet());
    this.slots = slots;
    this.rough = rough;
    this.runs = runs;
    this.leaseWay = leaseWay;
    this.meanGapNanos = millis(1) / 4 + random.nextLong(millis(8));
  }

  /** Begins; again, once all have an answer. */
  void start() {
    askers.clear();
    world.after(millis(50), "arrival", this::arrive);
  }

  boolean closed() {
    return askers.size() >= ARRIVALS;
  }

  private void arrive() {
    SimulatedInstance at = instances.get(random.nextInt(instances.size()));
    int loop = random.nextInt(SimulatedInstance.LOOPS);
    int kind = random.nextInt(10);
    List<DeploymentId> wanted = kind < 7 ? draw() : List.of(any());
    Asker asker = new Asker("l" + askers.size(), at, loop, wanted);
    askers.add(asker);
    waiting++;
    asker.home.execute(
        () -> {
          asker.asked = true;
          asker.askedNanos = world.elapsedNanos();
          if (kind < 7) {
            askForAll(asker);
          } else if (kind < 9) {
            choose(asker);
          } else {
            call(asker);
          }
        });
    if (!closed()) {
      boolean burst = random.nextInt(4) > 0;
      world.after(burst ? 1 : random.nextLong(2 * meanGapNanos), "arrival", this::arrive);
    }
  }

  private DeploymentId any() {
    return deployments.get(random.nextInt(deployments.size()));
  }

  /**
   * One to four legs, in any order, some of the same deployment. Where everyone has to be served,
   * no more of one than it has slots.
   */
  private List<DeploymentId> draw() {
    List<DeploymentId> wanted = new ArrayList<>();
    int legs = 1 + random.nextInt(MOST_LEGS);
    while (wanted.size() < legs) {
      DeploymentId next = random.nextBoolean() || wanted.isEmpty() ? any() : wanted.get(0);
      if ((rough && random.nextInt(12) == 0)
          || Collections.frequency(wanted, next) < slots.get(next)) {
        wanted.add(next);
      } else {
        legs--;
      }
    }
    return wanted;
  }

  private DeploymentHandle handle(Asker asker, DeploymentId of) {
    CallOptions options = CallOptions.defaults().withReservationTtl(Duration.ofNanos(TTL_NANOS));
    if (rough) {
      long left = Math.max(1, asker.deadlineNanos - world.getAsLong());
      options = options.withTimeout(Duration.ofNanos(left));
    }
    HandleFactory made =
        RoutedHandle.of(asker.at.routers, of, asker.at.router.settings(), asker.loop);
    return (asker.parent == null ? made : made.within(asker.parent)).options(options);
  }

  // --- several ---

  private void askForAll(Asker asker) {
    List<DeploymentHandle> handles =
        asker.wanted.stream().map(each -> handle(asker, each)).toList();
    asker.mayBeRefused = random.nextInt(8) == 0;
    Pending<Selections> choice =
        asker.mayBeRefused
            ? Selections.startAll(Duration.ZERO, handles)
            : Selections.startAll(handles);
    choice
        .future()
        .onComplete(
            (held, failure) -> {
              if (failure == null) {
                allHeld(asker, held);
              } else {
                asker.failed(failure);
              }
            });
    if (rough && random.nextInt(4) == 0) {
      world.after(
          random.nextLong(random.nextBoolean() ? millis(3) : millis(400)),
          "cancel",
          () -> asker.home.execute(() -> cancel(asker, choice)));
    }
  }

  private void cancel(Asker asker, Pending<Selections> choice) {
    if (asker.parent != null) {
      asker.parent.cancel();
    } else {
      choice.cancel();
    }
  }

  private void allHeld(Asker asker, Selections held) {
    asker.answer(asker.mayBeRefused ? Outcome.HELD_AT_ONCE : Outcome.ALL_HELD);
    for (int place = 0; place < asker.wanted.size(); place++) {
      ReplicaSelection each = held.get(place);
      if (!each.deployment().equals(asker.wanted.get(place))) {
        throw world.fail(asker + ": got " + each + " in place " + place);
      }
      boolean gone =
          (asker.parent != null && asker.parent.cancelled()) || !runs.test(each.replicaId());
      long least = TTL_NANOS - TTL_NANOS / 10 - millis(50) - 2 * leaseWay.getAsLong();
      if (!gone && each.leaseRemaining().toNanos() < least) {
        throw world.fail(asker + ": got " + each + " (expected: its full time)");
      }
    }
    if (rough && random.nextInt(12) == 0) {
      outcomes.merge(Outcome.VANISHED, 1, Integer::sum);
      return; // its leases run out
    }
    long think = random.nextInt(3) == 0 ? random.nextLong(millis(300)) : random.nextLong(millis(2));
    asker.home.start(think, () -> use(asker, held));
  }

  private void use(Asker asker, Selections held) {
    for (ReplicaSelection each : held.selections()) {
      if (random.nextInt(3) > 0) {
        settled(asker, each.dispatch(Request.get("/" + asker.name)));
      }
    }
    held.close().onFailure(failure -> world.fail(asker + ": a close failed", failure));
  }

  private void settled(Asker asker, Future<?> response) {
    response.onFailure(
        failure -> {
          if (!rough || !(failure instanceof BerthException)) {
            world.fail(asker + ": what it held did not run", failure);
          }
        });
  }

  // --- one ---

  private void choose(Asker asker) {
    handle(asker, asker.wanted.get(0))
        .choose()
        .onComplete(
            (selection, failure) -> {
              if (failure != null) {
                asker.failed(failure);
                return;
              }
              asker.answer(Outcome.ENDED_SINGLE);
              asker.home.start(
                  random.nextLong(millis(20)),
                  () -> settled(asker, selection.dispatch(Request.get("/" + asker.name))));
            });
  }

  private void call(Asker asker) {
    handle(asker, asker.wanted.get(0))
        .call(Request.get("/" + asker.name))
        .onComplete(
            (response, failure) -> {
              if (failure == null || (rough && failure instanceof BerthException)) {
                asker.answer(Outcome.ENDED_SINGLE);
              } else {
                asker.failed(failure);
              }
            });
  }
}
