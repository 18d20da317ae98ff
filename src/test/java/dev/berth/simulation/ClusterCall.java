package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One request of a {@link ClusterSimulation}, as its caller sees it. */
final class ClusterCall {
  /** What a deadline is seen late, and told. */
  private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int PLAIN = -1;

  final String id;
  final ClusterNode at;
  final String busName; // of the process that it came to
  private final ClusterSimulation on;
  private final int process; // of the node that it came to
  private final SimulatedLoop loop;
  private long askedNanos; // or when one whose choice outlasted its deadline went on
  private final long timeoutNanos;
  private long stalledBefore;
  private final SimulatedClock clock;
  private long askedByItsClock;
  private boolean held; // its caller has a selection, and thinks
  private boolean answered;
  private boolean takenBack; // by its caller
  private @Nullable BerthException failure;
  private @Nullable Pending<Response> call;

  ClusterCall(ClusterSimulation on, String id, ClusterNode at, int index, long timeoutNanos) {
    this.on = on;
    this.id = id;
    this.at = at;
    this.process = at.processes;
    this.busName = at.vertx().node();
    this.clock = at.clock();
    this.loop = at.serving(index);
    this.timeoutNanos = timeoutNanos;
  }

  private void begins() {
    askedNanos = on.world.elapsedNanos();
    askedByItsClock = clock.getAsLong();
    stalledBefore = loop.stalledNanos();
  }

  /**
   * Of its kinds: a call, a choice that is dispatched, one that is closed, one that is forgotten.
   */
  void ask(DeploymentRouter router, int index, boolean plain, SplittableRandom random) {
    begins();
    HandleFactory bare =
        RoutedHandle.of(at.plane().routers, router.deployment(), router.settings(), index);
    var handle =
        bare.options(
            CallOptions.defaults()
                .withRequestId(id)
                .withTimeout(Duration.ofNanos(timeoutNanos))
                .withReservationTtl(Duration.ofSeconds(2)));
    Buffer body = Buffer.buffer("body of " + id);
    if (!plain && on.mostBodyBytes > 0 && random.nextInt(3) == 0) {
      body.appendBytes(new byte[random.nextInt(on.mostBodyBytes)]);
    }
    Request request = Request.post("/" + id, body);
    int kind = plain ? PLAIN : random.nextInt(100);
    if (kind < 65) {
      called(handle.start(request), plain ? PLAIN : random.nextInt(12_000));
      return;
    }
    handle
        .startChoose()
        .future()
        .onComplete(
            (chosen, failed) -> {
              if (chosen == null) {
                failed(failed);
              } else {
                checkInTime();
                held = true;
                loop.start(
                    random.nextLong(random.nextInt(4) == 0 ? 1_500_000_000 : 20_000_000),
                    () -> use(chosen, request, kind, random));
              }
            });
  }

  private void use(ReplicaSelection chosen, Request request, int kind, SplittableRandom random) {
    held = false;
    askedNanos = Math.max(askedNanos, on.world.elapsedNanos() - timeoutNanos);
    askedByItsClock = Math.max(askedByItsClock, clock.getAsLong() - timeoutNanos);
    if (kind < 88) {
      called(chosen.start(request), random.nextInt(12_000));
    } else if (kind < 96) {
      answered("closed");
      chosen.close();
    } else {
      answered("forgotten");
    }
  }

  private void called(Pending<Response> begun, int cancelledMillis) {
    call = begun;
    begun
        .future()
        .onComplete(
            (response, failed) -> {
              if (response == null) {
                failed(failed);
              } else {
                responded(response);
              }
            });
    if (cancelledMillis > PLAIN && cancelledMillis < 1_000) {
      loop.start(
          TimeUnit.MILLISECONDS.toNanos(cancelledMillis),
          () -> {
            takenBack = true;
            begun.cancel();
          });
    }
  }

  private void responded(Response response) {
    answered("response");
    String text = ((Response.Body.Whole) response.body()).bytes().toString();
    on.world.failIf(
        !text.equals(id + "#end") || on.executions.of(id) == null,
        () -> id + ": answered with " + text + " (expected: its own, of a handler that ran)");
  }

  private void failed(Throwable why) {
    answered(why.toString());
    if (!(why instanceof BerthException known)) {
      throw on.world.fail(id + ": failed with a foreign kind", why);
    }
    on.count(known.kind().name());
    on.world.failIf(
        known.kind() == BerthException.Kind.CANCELLED && !takenBack,
        () -> id + ": was cancelled (expected: nobody took it back)");
    failure = known;
  }

  private void answered(String how) {
    on.world.note("answered", id + " " + how);
    on.world.failIf(answered, () -> id + ": a second answer: " + how);
    answered = true;
    checkInTime();
  }

  /** Whether somebody waits for its answer, and has not taken it back. */
  boolean isWanted() {
    return isOpen() && !takenBack;
  }

  boolean isOpen() {
    return !answered && !held && isThere();
  }

  boolean isHeld() {
    return held && isThere();
  }

  /** Whether the process that it came to is. */
  private boolean isThere() {
    return at.processes == process && at.isUp() && !at.stopping;
  }

  boolean succeeded() {
    return answered && (failure == null || failure instanceof BerthException.HandlerFailed);
  }

  /**
   * One answer, by the deadline: but for what the loop of its router stood still. A process that
   * stops has said goodbye and drained: it does not look at deadlines any more.
   */
  void checkInTime() {
    if (!isThere()) {
      return;
    }
    long late =
        on.world.elapsedNanos()
            - askedNanos
            - timeoutNanos
            - (loop.stalledNanos() - stalledBefore)
            - timeoutNanos / 1_000;
    on.world.failIf(
        late > SLACK_NANOS, () -> "%s at %s: %d ms late".formatted(id, loop, late / 1_000_000));
  }

  /** How long after its deadline it is, by its caller's clock, be it a little slow. */
  long lateNanos() {
    return clock.getAsLong() - askedByItsClock - timeoutNanos - timeoutNanos / 1_000;
  }

  /** What was said not to have run has not. */
  void checkAtEnd() {
    if (isOpen()) {
      throw on.world.fail(id + ": no answer at the end");
    }
    BerthException told = failure;
    if (told == null || on.executions.of(id) == null) {
      return;
    }
    switch (told.kind()) {
      case DEPLOYMENT_UNAVAILABLE, BACK_PRESSURE, REPLICA_UNAVAILABLE, RESERVATION_EXPIRED ->
          throw on.world.fail(id + ": ran, and was told " + told);
      default -> {}
    }
  }

  @Override
  public String toString() {
    return id + " at " + loop + (failure == null ? "" : ": " + failure);
  }
}
