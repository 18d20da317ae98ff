package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.Registration;
import dev.berth.replica.Replica;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * An application under test: its deployments with the server's own router, queue, slots and
 * replicas, in this JVM, without HTTP, and with a clock that moves by {@link #advance} alone.
 *
 * <pre>{@code
 * try (TestBerth berth = TestBerth.start(Shop.build())) {
 *   Response answer = berth.call(Request.get("/"));
 *   Future<Response> other = berth.handle("prices").call(Request.get("/7"));
 *   berth.run();
 *   berth.advance(Duration.ofSeconds(11));
 * }
 * }</pre>
 *
 * <p>Nothing of the application runs but within a method of this class, on the caller's thread: the
 * futures of handles complete there, and a callback that throws makes that method throw. Blocking
 * handlers and hooks are the exception: they run on threads of their own, and {@link #await},
 * {@link #call} and {@link #close} wait for them, in real time, up to the {@linkplain
 * TestBerthBuilder#patience patience}. One thread at a time, and never a handler, may use it.
 *
 * <p>A deployment is named by its name, or as {@code application#deployment} where two applications
 * have one of that name.
 */
public final class TestBerth implements AutoCloseable {
  private static final int MOST_BODY_BYTES = 64 << 20; // of a body that is read whole

  private final TestInstance instance;
  private final TestApplications applications;
  private final boolean unsettledAllowed;
  private boolean closed;

  private TestBerth(TestApplications applications, boolean unsettledAllowed) {
    this.instance = applications.instance();
    this.applications = applications;
    this.unsettledAllowed = unsettledAllowed;
  }

  /** Starts an application with the settings of its code. */
  public static TestBerth start(Application application) {
    return of(application).start();
  }

  /** An application to be started with other settings. */
  public static TestBerthBuilder of(Application application) {
    return new TestBerthBuilder().with(TestBerthBuilder.DEFAULT_APPLICATION, application);
  }

  static TestBerth start(TestApplications applications, boolean unsettledAllowed) {
    TestBerth berth = new TestBerth(applications, unsettledAllowed);
    try {
      applications.deploy();
    } catch (Throwable failed) {
      try {
        berth.end();
      } catch (Throwable second) {
        failed.addSuppressed(second);
      }
      throw failed;
    }
    return berth;
  }

  // --- calling ---

  /** A handle of a deployment, for a caller on event loop 0. */
  public DeploymentHandle handle(String deployment) {
    return handleOn(0, deployment);
  }

  /**
   * A handle of a deployment, for a caller on another event loop.
   *
   * @param loop from 0
   */
  public DeploymentHandle handleOn(int loop, String deployment) {
    DeploymentId id = applications.find(deployment);
    if (loop < 0 || loop >= instance.plane.loops()) {
      throw new IllegalArgumentException(
          "loop: " + loop + " (expected: 0 to " + (instance.plane.loops() - 1) + ")");
    }
    return RoutedHandle.of(
        instance.plane.routers(), id, instance.deployments.router(id).settings(), loop);
  }

  /** Calls the ingress of the first application, as {@link #call(String, Request)} does. */
  public Response call(Request request) {
    return call(applications.ingress().toString(), request);
  }

  /**
   * Calls a deployment and runs what there is to run until it has answered.
   *
   * @throws dev.berth.api.BerthException what the call failed with
   * @throws AssertionError when it is not answered; says what it waits for
   */
  public Response call(String deployment, Request request) {
    Future<Response> response = handle(deployment).call(request);
    return resultOf(response, instance::nothingRuns);
  }

  /**
   * Runs what there is to run until a future is done: one of a handle, or any other that completes
   * by what the application does.
   *
   * @return its result
   * @throws RuntimeException what it failed with, as it is, and for a {@link
   *     dev.berth.api.BerthException.HandlerFailed} with what the handler threw as suppressed; a
   *     checked exception comes in a {@link CompletionException}
   * @throws AssertionError when it is not done in time; says what runs and waits
   */
  public <T> T await(Future<T> future) {
    return resultOf(future, () -> false);
  }

  /**
   * As {@link #await}, for a future that is to fail.
   *
   * @return what it failed with
   * @throws AssertionError when it succeeds, or is not done in time
   */
  public Throwable awaitFailure(Future<?> future) {
    waitFor(future, () -> false);
    if (future.succeeded()) {
      throw new AssertionError("future: succeeded with " + future.result() + " (expected: failed)");
    }
    return future.cause();
  }

  private <T> T resultOf(Future<T> future, BooleanSupplier hopeless) {
    waitFor(future, hopeless);
    if (future.succeeded()) {
      return future.result();
    }
    Throwable cause = future.cause();
    if (cause instanceof Error error) {
      throw error;
    }
    if (!(cause instanceof RuntimeException unchecked)) {
      throw new CompletionException(cause);
    }
    if (unchecked.getStackTrace().length == 0) { // expected kinds have none: show the test's line
      unchecked.addSuppressed(new IllegalStateException("awaited here"));
    }
    throw unchecked;
  }

  private void waitFor(Future<?> future, BooleanSupplier hopeless) {
    requireOpen();
    future.onComplete(done -> instance.loops.wake()); // it may be another thread's
    if (!instance.runUntil(future::isComplete, hopeless)) {
      throw new AssertionError("future: not done" + Unsettled.describe(instance));
    }
    if (future.failed()) {
      instance.thrown.explain(future.cause());
    }
  }

  /** The body of a response, read to its end. */
  public Buffer bytes(Response response) {
    return await(response.bytes(MOST_BODY_BYTES));
  }

  /** The body of a response as a UTF-8 text. */
  public String text(Response response) {
    return bytes(response).toString();
  }

  // --- running ---

  /**
   * Runs everything that is ready, and what becomes ready by it. Does not wait for blocking
   * handlers; {@link #await} does.
   */
  public void run() {
    requireOpen();
    instance.run();
  }

  /**
   * Lets time pass, and runs what is ready before, on the way, and at its end: delays of handlers
   * at their moment, deadlines, leases and waits in the queue as soon as they are over.
   *
   * @param by 0 or more
   */
  public void advance(Duration by) {
    requireOpen();
    if (by.isNegative()) {
      throw new IllegalArgumentException("by: " + by + " (expected: >= 0)");
    }
    instance.advance(by);
  }

  /** How much time has passed since the start. */
  public Duration elapsed() {
    return instance.time.elapsed();
  }

  /** What handlers see as the time of day: it begins at 2000-01-01T00:00:00Z. */
  public Instant now() {
    return instance.time.instant();
  }

  // --- looking ---

  /** The slots of a deployment, all its replicas together. */
  public SlotCounts ledger(String deployment) {
    return replicas(deployment).stream()
        .map(TestReplica::ledger)
        .reduce(SlotCounts.NONE, SlotCounts::plus);
  }

  /** Requests that wait for a slot of a deployment. */
  public int queued(String deployment) {
    return instance.deployments.router(applications.find(deployment)).queued();
  }

  /** The replicas of a deployment that have not stopped. */
  public List<TestReplica> replicas(String deployment) {
    return hosted(deployment).map(TestReplica::of).toList();
  }

  private Stream<Replica> hosted(String deployment) {
    DeploymentId id = applications.find(deployment);
    return instance.plane.host().replicas().stream()
        .filter(replica -> replica.deployment().equals(id));
  }

  /**
   * What handlers failed with, oldest first, the last 1 000. Callers are told only that a handler
   * failed, as in the server.
   */
  public List<Throwable> handlerFailures() {
    return instance.thrown.all();
  }

  /** What is not at rest, a line each: requests, selections, waiters, threads of user code. */
  public List<String> unsettled() {
    return Unsettled.of(instance);
  }

  /**
   * Runs what is ready, waits for blocking handlers, and checks that nothing is left: no slot is
   * taken, no one waits, and all gauges are 0.
   *
   * @throws AssertionError naming what is left
   */
  public void assertAtRest() {
    requireOpen();
    instance.runUntil(() -> unsettled().isEmpty(), instance::nothingRuns);
    if (!unsettled().isEmpty()) {
      throw new AssertionError("not at rest" + Unsettled.describe(instance));
    }
  }

  /**
   * Gives every replica of a deployment another {@code user_config}, and waits for their hooks.
   *
   * @throws RuntimeException what a hook threw, as {@link #await} does
   */
  public void reconfigure(String deployment, Map<String, Object> userConfig) {
    await(
        Future.join(
            hosted(deployment)
                .filter(Replica::isServing)
                .map(replica -> replica.reconfigure(userConfig))
                .toList()));
  }

  /**
   * Drains a replica, then stops it: it finishes what it accepted and the leases it granted within
   * {@code graceful_shutdown_timeout_s}, and takes nothing more. {@link #replaceReplicas} replaces
   * it.
   *
   * @param replicaId of {@link #replicas} or {@link dev.berth.api.ReplicaSelection#replicaId}
   */
  public void stopReplica(String replicaId) {
    requireOpen();
    instance.stop(running(replicaId));
    instance.run();
  }

  /**
   * Ends a replica at once: what it runs fails with {@link
   * dev.berth.api.BerthException.OutcomeUnknown}, selections of it with {@link
   * dev.berth.api.BerthException.ReplicaUnavailable} when they are dispatched. {@link
   * #replaceReplicas} replaces it.
   */
  public void killReplica(String replicaId) {
    requireOpen();
    instance.kill(running(replicaId));
    instance.run();
  }

  /**
   * Starts what the server starts by itself: replicas in the place of those that were stopped or
   * killed, and of those that are unhealthy, which drain when the others run. Waits for their
   * hooks.
   *
   * @throws IllegalStateException when one does not start, with what its hook said
   * @throws AssertionError when one has not started in time
   */
  public void replaceReplicas() {
    requireOpen();
    applications.replace();
    instance.run();
  }

  private Replica running(String replicaId) {
    List<String> known = new ArrayList<>();
    for (Replica each : instance.plane.host().replicas()) {
      if (each.replicaId().equals(replicaId)) {
        return each;
      }
      known.add(each.replicaId());
    }
    throw new IllegalArgumentException(
        "replicaId: " + replicaId + " (expected: one of " + known + ")");
  }

  // --- end ---

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("TestBerth: closed (expected: open)");
    }
  }

  /**
   * Stops the application: runs what is ready, stops the replicas with their hooks, and complains
   * of what the test left: handlers that had not settled, selections that were neither dispatched
   * nor closed, requests that wait. What has not settled is cancelled. A second call does nothing.
   *
   * @throws AssertionError naming what was left, unless {@link TestBerthBuilder#allowUnsettled}
   */
  @Override
  @SuppressWarnings("try") // to be closed is all that is asked of it
  public void close() {
    if (closed) {
      return;
    }
    instance.loops.requireOutside();
    try (Registration ending = this::end) { // whatever else fails
      if (!unsettledAllowed) {
        assertAtRest();
      }
    }
  }

  /** Ends what runs, and stops what is left. */
  private void end() {
    closed = true;
    try {
      for (Replica replica : instance.plane.host().replicas()) {
        if (!unsettled().isEmpty()) {
          instance.kill(replica);
        }
      }
      if (!applications.withdraw() && !unsettledAllowed) {
        throw new AssertionError("the application did not stop" + Unsettled.describe(instance));
      }
    } finally {
      instance.loops.close();
      instance.threads.interrupt();
    }
  }
}
