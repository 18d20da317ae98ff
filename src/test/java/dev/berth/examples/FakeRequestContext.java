package dev.berth.examples;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.RequestContext;
import dev.berth.metrics.UserMeters;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A request's context whose time passes when a test says so. */
final class FakeRequestContext implements RequestContext {
  /** Delays asked for so far, in order. */
  final List<Duration> delays = new ArrayList<>();

  private final ArrayDeque<Promise<Void>> waiting = new ArrayDeque<>();
  private final List<Runnable> cancelActions = new ArrayList<>();
  private Optional<Duration> remaining = Optional.empty();
  private boolean cancelled;

  FakeRequestContext withRemaining(Duration time) {
    remaining = Optional.of(time);
    return this;
  }

  /** Ends the oldest delay; false when none is waited for. */
  boolean endDelay() {
    Promise<Void> oldest = waiting.poll();
    if (oldest == null) {
      return false;
    }
    oldest.complete();
    return true;
  }

  void cancel() {
    cancelled = true;
    cancelActions.forEach(Runnable::run);
    waiting.forEach(delay -> delay.fail(new BerthException.Cancelled("cancelled by the test")));
    waiting.clear();
  }

  @Override
  public String requestId() {
    return "request-1";
  }

  @Override
  public String replicaId() {
    return "app#deployment#1";
  }

  @Override
  public Optional<Duration> remaining() {
    return remaining;
  }

  @Override
  public boolean cancelled() {
    return cancelled;
  }

  @Override
  public Optional<String> sessionId() {
    return Optional.empty();
  }

  @Override
  public DeploymentId deployment() {
    return new DeploymentId("app", "deployment");
  }

  @Override
  public DeploymentHandle handle(String name) {
    throw new IllegalArgumentException("deployment: " + name + " (expected: none here)");
  }

  @Override
  public String methodName() {
    return "";
  }

  @Override
  public Headers headers() {
    return Headers.empty();
  }

  @Override
  public Instant arrivedAtRouter() {
    return Instant.EPOCH;
  }

  @Override
  public Instant arrivedAtReplica() {
    return Instant.EPOCH;
  }

  @Override
  public Logger logger() {
    return LoggerFactory.getLogger("app.deployment");
  }

  @Override
  public ReplicaMeters meters() {
    return new UserMeters(deployment(), replicaId());
  }

  @Override
  public Runnable onCancel(Runnable action) {
    if (cancelled) {
      action.run();
    } else {
      cancelActions.add(action);
    }
    return () -> cancelActions.remove(action);
  }

  @Override
  public Future<Void> after(Duration delay) {
    delays.add(delay);
    Promise<Void> over = Promise.promise();
    waiting.add(over);
    return over.future();
  }
}
