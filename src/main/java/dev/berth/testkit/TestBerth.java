package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.MeterRegistration;
import dev.berth.protocol.RequestOrigin;
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
 * An application under test, in this JVM and without HTTP. Its deployments have the server's own
 * router, queue, slots and replicas. Only {@link #advance} moves the clock.
 *
 * <pre>{@code
 * try (TestBerth berth = TestBerth.start(Shop.build())) {
 *   Response response = berth.call(Request.get("/"));
 *   Future<Response> other = berth.handle("prices").call(Request.get("/7"));
 *   berth.run();
 *   berth.advance(Duration.ofSeconds(11));
 * }
 * }</pre>
 *
 * <p><b>Concurrency.</b> The application runs only within the methods of this class, on the
 * caller's thread. The futures of handles complete there, and a callback that throws makes that
 * method throw. One thread at a time may call these methods, and never a handler.
 *
 * <p>Blocking handlers and hooks are the exception: they run on their own threads. {@link #await},
 * {@link #call} and {@link #close} wait for them in real time, up to the {@linkplain
 * TestBerthBuilder#patience patience}.
 *
 * <p><b>Names.</b> A deployment is named by its name, or as {@code application#deployment} where
 * two applications have a deployment of that name.
 */
public final class TestBerth implements AutoCloseable {
  private static final int MAX_BODY_BYTES = 64 << 20; // maximum of a buffered body

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

  /** Returns a builder for an application with other settings. */
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

  // --- calls ---

  /** Returns a handle of a deployment, for a caller on event loop 0. */
  public DeploymentHandle handle(String deployment) {
    return handleOn(0, deployment);
  }

  /**
   * Returns a handle of a deployment, for a caller on another event loop.
   *
   * @param loop index of the loop, from 0
   */
  public DeploymentHandle handleOn(int loop, String deployment) {
    DeploymentId id = applications.find(deployment);
    if (loop < 0 || loop >= instance.plane.loops()) {
      throw new IllegalArgumentException(
          "loop: " + loop + " (expected: 0 to " + (instance.plane.loops() - 1) + ")");
    }
    return RoutedHandle.of(
        instance.plane.routers, id, instance.deployments.router(id).settings(), loop);
  }

  /** Calls the ingress of the first application, as {@link #call(String, Request)} does. */
  public Response call(Request request) {
    return call(applications.ingress().toString(), request);
  }

  /**
   * Calls a deployment, and runs ready tasks until the response arrives.
   *
   * @throws dev.berth.api.BerthException when the call fails
   * @throws AssertionError when no response arrives; the message names the pending work
   */
  public Response call(String deployment, Request request) {
    Future<Response> response = handle(deployment).call(request);
    return resultOf(response, instance::nothingRuns);
  }

  /**
   * Runs ready tasks until a future is complete: a future of a handle, or any other that the
   * application completes.
   *
   * @return the result of the future
   * @throws RuntimeException the failure of the future. A {@link
   *     dev.berth.api.BerthException.HandlerFailed} has the handler's own error as suppressed; a
   *     checked exception is wrapped in a {@link CompletionException}
   * @throws AssertionError when the future is not complete in time; the message names running and
   *     pending work
   */
  public <T> T await(Future<T> future) {
    return resultOf(future, () -> false);
  }

  /**
   * Runs ready tasks until a future fails, as {@link #await} does.
   *
   * @return the failure
   * @throws AssertionError when the future succeeds, or is not complete in time
   */
  public Throwable awaitFailure(Future<?> future) {
    waitFor(future, () -> false);
    if (future.succeeded()) {
      throw new AssertionError("future: succeeded with " + future.result() + " (expected: failed)");
    }
    return future.cause();
  }

  /** Returns a client with the semantics of HTTP. */
  public TestHttp http() {
    return new TestHttp(this, applications, new RequestOrigin("127.0.0.1", "http", null));
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
    future.onComplete(done -> instance.loops.wake()); // another thread may complete the future
    if (!instance.runUntil(future::isComplete, hopeless)) {
      throw new AssertionError("future: not done" + Unsettled.describe(instance));
    }
    if (future.failed()) {
      instance.thrown.explain(future.cause());
    }
  }

  /** Returns the whole body of a response, at most 64 MiB. */
  public Buffer bytes(Response response) {
    return await(response.bytes(MAX_BODY_BYTES));
  }

  /** Returns the whole body of a response as a UTF-8 text. */
  public String text(Response response) {
    return bytes(response).toString();
  }

  // --- time ---

  /**
   * Runs all ready tasks, and the tasks that become ready thereby. Does not wait for blocking
   * handlers; {@link #await} does.
   */
  public void run() {
    requireOpen();
    instance.run();
  }

  /**
   * Advances the clock, and runs ready tasks before, on the way, and at the end. Delays of handlers
   * end at their exact time; deadlines, leases and queue timeouts expire as soon as their time is
   * reached.
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

  /** Returns the time since the start. */
  public Duration elapsed() {
    return instance.time.elapsed();
  }

  /** Returns the time of day that handlers see, which begins at 2000-01-01T00:00:00Z. */
  public Instant now() {
    return instance.time.instant();
  }

  // --- state ---

  /** Returns the slots of all replicas of a deployment together. */
  public SlotCounts ledger(String deployment) {
    return replicas(deployment).stream()
        .map(TestReplica::ledger)
        .reduce(SlotCounts.NONE, SlotCounts::plus);
  }

  /** Returns the number of requests that wait for a slot of a deployment. */
  public int queued(String deployment) {
    return instance.deployments.router(applications.find(deployment)).queued();
  }

  /** Returns the replicas of a deployment that have not stopped. */
  public List<TestReplica> replicas(String deployment) {
    return hosted(deployment).map(TestReplica::of).toList();
  }

  private Stream<Replica> hosted(String deployment) {
    DeploymentId id = applications.find(deployment);
    return instance.plane.host.replicas().stream()
        .filter(replica -> replica.deployment().equals(id));
  }

  /**
   * Returns the errors of handlers, oldest first, at most the last 1 000. As in the server, callers
   * learn only that a handler failed.
   */
  public List<Throwable> handlerFailures() {
    return instance.thrown.all();
  }

  /** Returns a line for each running or pending request, open selection and thread of user code. */
  public List<String> unsettled() {
    return Unsettled.of(instance);
  }

  /**
   * Runs ready tasks, waits for blocking handlers, and checks that no work remains: all slots are
   * free, the queues are empty, and all gauges are 0.
   *
   * @throws AssertionError when work remains; the message names it
   */
  public void assertAtRest() {
    requireOpen();
    instance.runUntil(() -> unsettled().isEmpty(), instance::nothingRuns);
    if (!unsettled().isEmpty()) {
      throw new AssertionError("not at rest" + Unsettled.describe(instance));
    }
  }

  /**
   * Sets the {@code user_config} of every replica of a deployment, and waits for their hooks.
   *
   * @throws RuntimeException the error of a hook, as {@link #await} throws it
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
   * Drains a replica, then stops it. The replica finishes its accepted requests and its leases
   * within {@code graceful_shutdown_timeout_s}, and accepts nothing more. {@link #replaceReplicas}
   * replaces the replica.
   *
   * @param replicaId of {@link #replicas} or {@link dev.berth.api.ReplicaSelection#replicaId}
   */
  public void stopReplica(String replicaId) {
    requireOpen();
    instance.stop(running(replicaId));
    instance.run();
  }

  /**
   * Ends a replica at once. Its running requests fail with {@link
   * dev.berth.api.BerthException.OutcomeUnknown}; its selections fail with {@link
   * dev.berth.api.BerthException.ReplicaUnavailable} when they are dispatched. {@link
   * #replaceReplicas} replaces the replica.
   */
  public void killReplica(String replicaId) {
    requireOpen();
    instance.kill(running(replicaId));
    instance.run();
  }

  /**
   * Starts the replicas that the server would start by itself: replacements for stopped, killed and
   * unhealthy replicas. Unhealthy replicas drain once their replacements run. Waits for the hooks.
   *
   * @throws IllegalStateException when a replica does not start, with the error of its hook
   * @throws AssertionError when a replica has not started in time
   */
  public void replaceReplicas() {
    requireOpen();
    applications.replace();
    instance.run();
  }

  private Replica running(String replicaId) {
    List<String> known = new ArrayList<>();
    for (Replica each : instance.plane.host.replicas()) {
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
   * Stops the application. Runs ready tasks, stops the replicas with their hooks, and cancels the
   * work that has not settled. A second call does nothing.
   *
   * @throws AssertionError when the test left work: handlers that had not settled, selections that
   *     were neither dispatched nor closed, or waiting requests. {@link
   *     TestBerthBuilder#allowUnsettled} disables this check
   */
  @Override
  @SuppressWarnings("try") // only its close() is needed
  public void close() {
    if (closed) {
      return;
    }
    instance.loops.requireOutside();
    try (MeterRegistration ending = this::end) { // runs even if the check fails
      if (!unsettledAllowed) {
        assertAtRest();
      }
    }
  }

  /** Kills replicas with unsettled work, and stops the application. */
  private void end() {
    closed = true;
    try {
      for (Replica replica : instance.plane.host.replicas()) {
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
