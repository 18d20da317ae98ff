package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Headers;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.protocol.port.HeadBytes;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.SelectionObserver;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;

/** The callers: what they ask, and how they give up. */
final class Workload {
  /** A head of this is over what a message carries. */
  static final String LARGE = "x".repeat(HeadBytes.MAX);

  private final Simulation on;
  private final SplittableRandom random;
  final List<Op> ops = new ArrayList<>();
  final List<Op> active = new ArrayList<>();
  final List<Op> open = new ArrayList<>(); // and those whose callers vanished
  private final Map<String, Op> byRequest = new HashMap<>();
  private final long meanGapNanos;
  private int number;
  private boolean closed;
  private int burst;

  Workload(Simulation on) {
    this.on = on;
    this.random = on.world.randomness();
    // From idle to hopelessly overloaded.
    this.meanGapNanos = (long) (1_500_000 * Math.pow(40, random.nextDouble()));
  }

  Op find(String requestId) {
    return Objects.requireNonNull(byRequest.get(requestId), requestId);
  }

  void start() {
    closed = false;
    on.world.after(nextGap(), "arrival", this::arrive);
  }

  /** No more requests come. */
  void close() {
    closed = true;
  }

  private long nextGap() {
    if (burst > 0) {
      burst--;
      return random.nextLong(20_000);
    }
    if (random.nextInt(40) == 0) {
      burst = random.nextInt(30);
    }
    return (long) (-Math.log(1 - random.nextDouble()) * meanGapNanos);
  }

  private void arrive() {
    if (closed) {
      return;
    }
    active.removeIf(op -> !op.active());
    on.world.after(nextGap(), "arrival", this::arrive);
    SimulatedInstance at = on.instances.get(random.nextInt(on.instances.size()));
    int loop = random.nextInt(SimulatedInstance.LOOPS);
    if (at.crashed()) {
      return;
    }
    int kind = random.nextInt(100);
    boolean patient = kind < 90 && random.nextInt(12) == 0;
    Op op =
        new Op(
            on,
            "r" + ++number,
            at,
            loop,
            patient ? Op.NO_DEADLINE : on.world.getAsLong() + timeout(),
            patient ? Op.Reading.FLOWING : reading());
    ops.add(op);
    byRequest.put(op.requestId, op);
    active.add(op);
    open.removeIf(Op::over);
    open.add(op);
    if (patient && !on.orderly && !on.lossless) {
      givesUp(op); // what is lost on the way would never be answered
    }
    op.loop.execute(
        () -> {
          if (kind < 50) {
            call(op);
          } else if (kind < 60) {
            callByHandle(op);
          } else if (kind < 90) {
            choose(op);
          } else {
            withSelection(op);
          }
        });
    if (random.nextInt(8) == 0) {
      on.world.after(
          random.nextLong(random.nextBoolean() ? 3_000_000 : 200_000_000),
          "cancel",
          () -> op.loop.execute(() -> cancel(op)));
    }
  }

  private long timeout() {
    return switch (random.nextInt(10)) {
      case 0 -> micros(1 + random.nextInt(5_000));
      case 1, 2, 3 -> micros(20_000 + random.nextInt(200_000));
      default -> micros(500_000 + random.nextInt(1_500_000));
    };
  }

  private Op.Reading reading() {
    int drawn = random.nextInt(20);
    return drawn < 12
        ? Op.Reading.FLOWING
        : drawn < 16
            ? Op.Reading.PIECE_BY_PIECE
            : drawn < 19 || on.orderly ? Op.Reading.CANCEL_HALFWAY : Op.Reading.NEVER;
  }

  /** What user code asks, whose heads are held to a limit. */
  private Request request(Op op) {
    if (random.nextInt(80) == 0) {
      op.largeHead = true;
      Headers large = Headers.of("x-large", LARGE);
      return Request.of("GET", "/" + op.requestId, null, large, Buffer.buffer());
    }
    return received(op);
  }

  private Request received(Op op) {
    Request plain = unmarked(op);
    return on.batching ? SimulatedBatches.marked(plain, op.requestId) : plain;
  }

  private Request unmarked(Op op) {
    String path = "/" + op.requestId;
    int drawn = random.nextInt(20);
    if (drawn < 14) {
      return Request.post(path, Buffer.buffer("body of " + op.requestId));
    }
    if (drawn == 14) {
      op.longBody = true;
      int total = SimulatedSource.drawTotal(random);
      return Request.of(
          "POST",
          path,
          null,
          Headers.of(SimulatedSource.TOTAL, Integer.toString(total)),
          SimulatedSource.content(0, total));
    }
    SimulatedSource source = new SimulatedSource(on, op, random.split());
    op.source = source;
    return source.request(path);
  }

  // --- what they ask ---

  private void call(Op op) {
    boolean othersWait = op.at.takers(op.loopIndex) > 0;
    op.call =
        RoutedCall.start(
            op.at.router, op.at.routers.loop(op.loopIndex), received(op), op, on.world.getAsLong());
    checkDoor(op, op.call, othersWait);
  }

  /** A newcomer stands behind those who wait. */
  private void checkDoor(Op op, Object request, boolean othersWaited) {
    if (op.over()) {
      return;
    }
    if (RoutingProbe.isWaiting(request)) {
      on.coverage.seen(Transition.QUEUED);
    } else if (othersWaited && RoutingProbe.isSent(request)) {
      throw on.world.fail(op + ": took a slot at once while others waited");
    } else {
      checkAvoids(op, RoutingProbe.target(request));
    }
  }

  /** A slot taken at once is not that of a replica to be avoided. */
  private void checkAvoids(Op op, String replicaId) {
    for (ReplicaInfo replica : RoutingProbe.routable(op.at.router)) {
      if (replica.replicaId().equals(replicaId) && op.at.avoids(replica)) {
        throw on.world.fail(op + ": went to " + replicaId + ", on a blocked loop");
      }
    }
  }

  private DeploymentHandle handle(Op op) {
    CallOptions options =
        CallOptions.defaults()
            .withRequestId(op.requestId)
            .withReservationTtl(Duration.ofNanos(ttlNanos()))
            .withCost(op.cost);
    if (op.hasDeadline()) {
      options =
          options.withTimeout(
              Duration.ofNanos(Math.max(1, op.deadlineNanos - on.world.getAsLong())));
    }
    HandleFactory handle =
        RoutedHandle.of(
            op.at.routers,
            SimulatedInstance.Settings.DEPLOYMENT,
            op.at.router.settings(),
            op.loopIndex);
    return (op.parent == null ? handle : handle.within(op.parent)).options(options);
  }

  private void callByHandle(Op op) {
    Pending<Response> call = handle(op).start(request(op));
    op.handleCall = call;
    call.future().onComplete((response, failure) -> answer(op, response, failure));
  }

  private void answer(Op op, Response response, Throwable failure) {
    if (failure == null) {
      op.onResponse(response, "");
    } else if (failure instanceof BerthException expected) {
      op.onFailure(expected);
    } else {
      throw on.world.fail(op + ": failed with a foreign kind", failure);
    }
  }

  private void choose(Op op) {
    boolean othersWait = op.at.takers(op.loopIndex) > 0;
    op.choice =
        RoutingProbe.choose(
            op.at.router,
            op.at.routers.loop(op.loopIndex),
            op.deadlineNanos,
            ttlNanos(),
            op.requestId,
            op.explainer(),
            new SelectionObserver() {
              @Override
              public void onSelection(ReplicaSelection selection) {
                op.selected(selection);
                op.loop.execute(() -> useSelection(op, selection));
              }

              @Override
              public void onFailure(BerthException failure) {
                op.onFailure(failure);
              }
            },
            op.cost);
    ReplicaSelection chosen = op.selection;
    if (chosen == null) {
      checkDoor(op, op.choice, othersWait);
    } else {
      checkAvoids(op, chosen.replicaId());
    }
  }

  private long ttlNanos() {
    if (on.orderly) {
      return micros(2_000_000);
    }
    return micros(random.nextInt(4) == 0 ? 5_000 : 100_000 + random.nextInt(700_000));
  }

  private void useSelection(Op op, ReplicaSelection selection) {
    if (!op.wantsMore()) {
      return; // neither dispatched nor closed: its lease runs out
    }
    int use = random.nextInt(100);
    long think = random.nextInt(3) == 0 ? random.nextLong(120_000_000) : random.nextLong(500_000);
    if (use < 10 && !on.orderly && op.hasDeadline()) {
      vanish(op);
      op.leftUndone();
    } else if (use < 22) {
      op.loop.start(think, () -> close(op, selection));
    } else if (use < 45) {
      op.loop.start(think, () -> renew(op, selection));
    } else {
      op.loop.start(think, () -> dispatch(op, selection));
    }
  }

  private void close(Op op, ReplicaSelection selection) {
    if (op.wantsMore()) {
      op.finishedWithoutDispatch();
      on.coverage.seen(Transition.SELECTION_CLOSED);
      selection.close();
      if (random.nextBoolean()) {
        selection.close(); // twice is nothing
      }
    }
  }

  private void renew(Op op, ReplicaSelection selection) {
    if (!op.wantsMore()) {
      return;
    }
    Future<Boolean> renewed = selection.renew();
    renewed.onComplete(
        (held, failure) -> {
          if (failure != null) {
            throw on.world.fail(op + ": a renewal failed (expected: true or false)", failure);
          }
          on.coverage.seen(held ? Transition.RENEWED : Transition.RENEWAL_REFUSED);
        });
    if (random.nextInt(3) == 0) {
      dispatch(op, selection); // the renewal may still be on its way
    } else {
      op.loop.start(
          random.nextLong(100_000_000),
          () -> {
            if (random.nextInt(4) == 0) {
              close(op, selection);
            } else {
              dispatch(op, selection);
            }
          });
    }
  }

  private void dispatch(Op op, ReplicaSelection selection) {
    if (!op.wantsMore()) {
      return;
    }
    op.dispatched = true;
    on.world.note("dispatched", op.requestId);
    on.coverage.seen(Transition.SELECTION_DISPATCHED);
    Pending<Response> call = selection.start(request(op));
    op.handleCall = call;
    call.future().onComplete((response, failure) -> answer(op, response, failure));
    if (random.nextInt(4) == 0) {
      selection.close(); // after a dispatch it is nothing
      selection
          .dispatch(Request.get("/again"))
          .onComplete(
              (response, failure) -> {
                on.world.failIf(failure == null, () -> op + ": a second dispatch was answered");
                on.coverage.seen(Transition.SECOND_DISPATCH_REFUSED);
              });
    }
  }

  private void withSelection(Op op) {
    int use = random.nextInt(10);
    handle(op)
        .<Response>withSelection(
            selection -> {
              op.selected(selection);
              if (use == 0) {
                throw new BerthException.Cancelled("the scope threw");
              }
              if (use == 1) {
                return Future.failedFuture(new BerthException.Cancelled("the scope failed"));
              }
              op.dispatched = true;
              Pending<Response> call = selection.start(request(op));
              op.handleCall = call;
              return call.future();
            })
        .onComplete((response, failure) -> answer(op, response, failure));
  }

  // --- how they give up ---

  private void cancel(Op op) {
    if (!op.wantsMore() || op.cancelAsked) {
      return;
    }
    Phase phase = op.phase();
    if (phase == Phase.HELD) {
      return; // it is closed, not cancelled
    }
    Runnable cancel;
    if (op.parent != null && op.call == null && op.choice == null) {
      cancel = op.parent::cancel; // takes with it what a handle does for it
    } else if (op.handleCall != null) {
      cancel = op.handleCall::cancel;
    } else if (op.call != null) {
      cancel = op.call::cancel;
    } else if (op.choice != null) {
      cancel = op.choice::cancel;
    } else {
      return; // a choose by handle: it has no cancel
    }
    op.cancelling(phase);
    cancel.run();
  }

  private void vanish(Op op) {
    op.vanish();
    on.world.note("vanished", op.requestId);
  }

  /** A caller without a deadline has patience all the same. */
  private void givesUp(Op op) {
    on.world.after(
        micros(300_000 + random.nextInt(3_000_000)),
        "patience",
        () -> {
          if (op.active()) {
            op.loop.execute(
                () -> {
                  if (op.active()) {
                    if (!op.stopReading()) {
                      cancel(op);
                    }
                    on.coverage.seen(Transition.GIVEN_UP_WITHOUT_DEADLINE);
                  }
                });
            givesUp(op);
          }
        });
  }

  /** Some caller, wherever it is, is gone without a word. */
  void someoneVanishes() {
    active.removeIf(op -> !op.active());
    List<Op> some = active.stream().filter(Op::hasDeadline).toList();
    if (!some.isEmpty()) {
      vanish(some.get(random.nextInt(some.size())));
    }
  }

  private static long micros(long micros) {
    return micros * 1_000;
  }
}
