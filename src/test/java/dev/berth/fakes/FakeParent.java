package dev.berth.fakes;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.RequestContext;
import dev.berth.metrics.UserMeters;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.port.ExplainedParent;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A request that a handler runs, which a test cancels, and whose time passes when it says so. */
public final class FakeParent implements RequestContext, ExplainedParent {
  private final List<Runnable> cancelActions = new ArrayList<>();
  private final ArrayDeque<Promise<Void>> waiting = new ArrayDeque<>();
  private boolean cancelled;

  /** Delays asked for so far, in order. */
  public final List<Duration> delays = new ArrayList<>();

  /** Calls of it that are still to be explained. */
  public int explainedCalls;

  /** Why those of its calls failed that did. */
  public final List<RequestFailure> failedCalls = new ArrayList<>();

  public String requestId = "parent-1";
  public String sessionId = "";
  public Headers headers = Headers.empty();

  /** Time left; null for no deadline. It does not pass. */
  public @Nullable Duration remaining;

  @Override
  public String method() {
    return "GET";
  }

  @Override
  public String path() {
    return "/";
  }

  @Override
  public @Nullable String query() {
    return null;
  }

  @Override
  public String routePrefix() {
    return "/";
  }

  @Override
  public String clientAddress() {
    return "";
  }

  @Override
  public String scheme() {
    return "http";
  }

  @Override
  public String host() {
    return "localhost";
  }

  @Override
  public boolean tryExplainCall() {
    return explainedCalls-- > 0;
  }

  @Override
  public void callFailed(BerthException told, RequestFailure why) {
    failedCalls.add(why);
  }

  public void cancel() {
    cancelled = true;
    List<Runnable> actions = List.copyOf(cancelActions);
    cancelActions.clear();
    actions.forEach(Runnable::run);
    waiting.forEach(delay -> delay.fail(new BerthException.Cancelled("cancelled by the test")));
    waiting.clear();
  }

  /** Ends the oldest delay; false when none is waited for. */
  public boolean endDelay() {
    Promise<Void> oldest = waiting.poll();
    if (oldest == null) {
      return false;
    }
    oldest.complete();
    return true;
  }

  /** Actions it would run on cancel. */
  public int children() {
    return cancelActions.size();
  }

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public Optional<String> sessionId() {
    return sessionId.isEmpty() ? Optional.empty() : Optional.of(sessionId);
  }

  @Override
  public DeploymentId deployment() {
    return new DeploymentId("app", "parent");
  }

  @Override
  public String replicaId() {
    return "app#parent#1";
  }

  @Override
  public String methodName() {
    return "";
  }

  @Override
  public Headers headers() {
    return headers;
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
  public Optional<Duration> remaining() {
    return Optional.ofNullable(remaining);
  }

  @Override
  public RequestContext withTimeout(Duration budget) {
    throw new IllegalArgumentException("budget: " + budget + " (expected: none here)");
  }

  @Override
  public Instant now() {
    return Instant.EPOCH;
  }

  /** Tests make handles of it by themselves. */
  @Override
  public DeploymentHandle handle(String name) {
    throw new IllegalArgumentException("deployment: " + name + " (expected: none here)");
  }

  @Override
  public boolean cancelled() {
    return cancelled;
  }

  @Override
  public Runnable onCancel(Runnable action) {
    if (cancelled) {
      action.run();
      return () -> {};
    }
    cancelActions.add(action);
    return () -> cancelActions.remove(action);
  }

  @Override
  public Future<Void> after(Duration delay) {
    delays.add(delay);
    Promise<Void> over = Promise.promise();
    waiting.add(over);
    return over.future();
  }

  @Override
  public Logger logger() {
    return LoggerFactory.getLogger("app.parent");
  }

  @Override
  public ReplicaMeters meters() {
    return new UserMeters(deployment(), replicaId());
  }
}
