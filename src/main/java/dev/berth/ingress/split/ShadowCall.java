package dev.berth.ingress.split;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.ShadowMeters.ShadowEvent;
import dev.berth.protocol.RequestOrigin;
import dev.berth.routing.CallObserver;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.traffic.ShadowRule;
import io.vertx.core.buffer.Buffer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copy of a request for a shadow deployment. It runs only on a slot that is free at once, beside
 * another free slot. Its response is read and discarded. It is cancelled with its request and has
 * the same deadline; without one, it runs at most {@link #MAX_DURATION_NANOS}. Confined to the
 * event loop.
 */
final class ShadowCall implements CallObserver {
  /** Maximum duration in nanoseconds of a copy whose request has no deadline. */
  static final long MAX_DURATION_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Header that marks a copy: no client receives its response. */
  static final String HEADER = "x-serve-shadow";

  private static final Logger LOG = LoggerFactory.getLogger(ShadowCall.class);

  private final CallObserver of;
  private final ShadowTarget to;
  private final RouterLoop loop;
  private final long beganNanos;
  private ShadowEvent begun = ShadowEvent.COPIED;
  private boolean counted; // as copied
  private @Nullable RoutedCall call;
  private @Nullable ComparedResponse own;
  private @Nullable ComparedResponse users;

  /**
   * Compared parts of a response. A body that is not compared is null, so that it is not retained.
   */
  private record ComparedResponse(int status, @Nullable Buffer body) {}

  /**
   * @param of owner of the copied call
   */
  ShadowCall(CallObserver of, ShadowTarget to, RouterLoop loop, long beganNanos) {
    this.of = of;
    this.to = to;
    this.loop = loop;
    this.beganNanos = beganNanos;
  }

  /** Starts the copy if slots are free, and returns the result and its reason at once. */
  ShadowEvent begin(Request request) {
    if (!(request.body() instanceof Request.Body.Whole whole)
        || whole.bytes().length() > to.shadow().maxBodyBytes()) {
      return ShadowEvent.SKIPPED_BODY;
    }
    if (!to.to().hasFree(cost() + 1)) { // cheaper than a refusal
      return ShadowEvent.SKIPPED_BUSY;
    }
    try {
      call = RoutedCall.start(to.to(), loop, request.withHeader(HEADER, "true"), this, beganNanos);
      return begun;
    } catch (RuntimeException broken) { // must not fail the request
      LOG.error("request {} not copied to {}", of.requestId(), to.to().deployment(), broken);
      return ShadowEvent.FAILED;
    }
  }

  /** Cancels the copy with its request. */
  void cancel() {
    if (call != null && own == null) {
      call.cancel();
    }
  }

  // --- properties ---

  @Override
  public String requestId() {
    return of.requestId();
  }

  @Override
  public String methodName() {
    return of.methodName();
  }

  @Override
  public String sessionId() {
    return of.sessionId();
  }

  @Override
  public @Nullable RequestOrigin origin() {
    return of.origin();
  }

  @Override
  public long arrivedNanos() {
    return beganNanos;
  }

  @Override
  public long deadlineNanos() {
    long users = of.deadlineNanos();
    return users == Long.MAX_VALUE ? beganNanos + MAX_DURATION_NANOS : users;
  }

  @Override
  public int cost() {
    return of.cost();
  }

  @Override
  public boolean isSpare() {
    return true;
  }

  // --- callbacks ---

  @Override
  public void onRouted(String replicaId) {
    copied();
  }

  private void copied() {
    if (!counted) {
      counted = true;
      to.meters().count(ShadowEvent.COPIED);
    }
  }

  @Override
  public void onResponse(Response response, String replicaId) {
    if (response.body() instanceof Response.Body.Received received) {
      received.stream()
          .exceptionHandler(cut -> to.meters().count(ShadowEvent.FAILED))
          .endHandler(end -> onOwnResponse(got(response)))
          .handler(piece -> {})
          .resume();
    } else {
      onOwnResponse(got(response));
    }
  }

  private ComparedResponse got(Response response) {
    ShadowRule shadow = to.shadow();
    Buffer body = response.body() instanceof Response.Body.Whole whole ? whole.bytes() : null;
    boolean compared = shadow.compares() && body != null && body.length() <= shadow.maxBodyBytes();
    return new ComparedResponse(response.status(), compared ? body : null);
  }

  private void onOwnResponse(ComparedResponse got) {
    to.meters().recordResponse(loop.now() - beganNanos);
    own = got;
    compare();
  }

  @Override
  public void onFailure(BerthException failure) {
    boolean sent = call != null && call.sent();
    boolean refused = !sent && failure.kind() == BerthException.Kind.BACK_PRESSURE;
    ShadowEvent how =
        refused ? ShadowEvent.SKIPPED_BUSY : ShadowEvent.FAILED; // others acquired the free slots
    if (sent) {
      copied();
    }
    if (call == null) {
      begun = how;
    } else {
      to.meters().count(how);
    }
  }

  /** Receives the client's response, or its head, for comparison. */
  void userGot(Response response) {
    to.meters().recordUserResponse(loop.now() - beganNanos);
    users = got(response);
    compare();
  }

  private void compare() {
    ComparedResponse one = own;
    ComparedResponse other = users;
    if (one == null || other == null) {
      return;
    }
    boolean same = one.status() == other.status();
    to.meters().count(same ? ShadowEvent.STATUS_SAME : ShadowEvent.STATUS_OTHER);
    if (one.body() != null && other.body() != null) {
      boolean alike = one.body().equals(other.body());
      to.meters().count(alike ? ShadowEvent.BODY_SAME : ShadowEvent.BODY_OTHER);
    }
  }
}
