package dev.berth.ingress.split;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.ShadowMeters.Event;
import dev.berth.routing.CallOwner;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.traffic.Shadow;
import io.vertx.core.buffer.Buffer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The copy of a request at a shadow. It takes a slot that is free at once, beside another, or none;
 * what it answers is read and forgotten. It is given up with its request, and runs no longer than
 * that may; without a deadline no longer than {@link #MOST_NANOS}. Confined to its loop.
 */
final class ShadowCall implements CallOwner {
  /** How long a copy of a request without a deadline may run. */
  static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Tells the handler that what it answers is for nobody. */
  static final String HEADER = "x-serve-shadow";

  private static final Logger LOG = LoggerFactory.getLogger(ShadowCall.class);

  private final CallOwner of;
  private final ShadowTarget to;
  private final RouterLoop loop;
  private final long beganNanos;
  private Event begun = Event.COPIED;
  private boolean counted; // as copied
  private @Nullable RoutedCall call;
  private @Nullable Got own;
  private @Nullable Got users;

  /** What of an answer is compared; of a body nothing that is not, so that it is not kept. */
  private record Got(int status, @Nullable Buffer body) {}

  /**
   * @param of who made the request that is copied
   */
  ShadowCall(CallOwner of, ShadowTarget to, RouterLoop loop, long beganNanos) {
    this.of = of;
    this.to = to;
    this.loop = loop;
    this.beganNanos = beganNanos;
  }

  /** It takes a slot or does not run: which of the two, and why, is known at once. */
  Event begin(Request request) {
    if (!(request.body() instanceof Request.Body.Whole whole)
        || whole.bytes().length() > to.shadow().maxBodyBytes()) {
      return Event.SKIPPED_BODY;
    }
    if (!to.to().hasFree(2)) { // cheaper than to be refused
      return Event.SKIPPED_BUSY;
    }
    try {
      call = RoutedCall.start(to.to(), loop, request.withHeader(HEADER, "true"), this, beganNanos);
      return begun;
    } catch (RuntimeException broken) { // it must not fail its request
      LOG.error(
          "request {} could not be copied to {}", of.requestId(), to.to().deployment(), broken);
      return Event.FAILED;
    }
  }

  /** Its request is given up. */
  void cancel() {
    if (call != null && own == null) {
      call.cancel();
    }
  }

  // --- asked ---

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
  public long arrivedNanos() {
    return beganNanos;
  }

  @Override
  public long deadlineNanos() {
    long users = of.deadlineNanos();
    return users == Long.MAX_VALUE ? beganNanos + MOST_NANOS : users;
  }

  @Override
  public boolean isSpare() {
    return true;
  }

  // --- told ---

  @Override
  public void onRouted(String replicaId) {
    copied();
  }

  private void copied() {
    if (!counted) {
      counted = true;
      to.meters().count(Event.COPIED);
    }
  }

  @Override
  public void onResponse(Response response, String replicaId) {
    if (response.body() instanceof Response.Body.Received received) {
      received.stream()
          .exceptionHandler(cut -> to.meters().count(Event.FAILED))
          .endHandler(end -> answered(got(response)))
          .handler(piece -> {})
          .resume();
    } else {
      answered(got(response));
    }
  }

  private Got got(Response response) {
    Shadow shadow = to.shadow();
    Buffer body = response.body() instanceof Response.Body.Whole whole ? whole.bytes() : null;
    boolean compared = shadow.compares() && body != null && body.length() <= shadow.maxBodyBytes();
    return new Got(response.status(), compared ? body : null);
  }

  private void answered(Got got) {
    to.meters().answered(loop.now() - beganNanos);
    own = got;
    compare();
  }

  @Override
  public void onFailure(BerthException failure) {
    boolean sent = call != null && call.sent();
    boolean refused = !sent && failure.kind() == BerthException.Kind.BACK_PRESSURE;
    Event how = refused ? Event.SKIPPED_BUSY : Event.FAILED; // others took what was spare
    if (sent) {
      copied();
    }
    if (call == null) {
      begun = how;
    } else {
      to.meters().count(how);
    }
  }

  /** What the client gets, or its head. */
  void userGot(Response response) {
    to.meters().userAnswered(loop.now() - beganNanos);
    users = got(response);
    compare();
  }

  private void compare() {
    Got one = own;
    Got other = users;
    if (one == null || other == null) {
      return;
    }
    boolean same = one.status() == other.status();
    to.meters().count(same ? Event.STATUS_SAME : Event.STATUS_OTHER);
    if (one.body() != null && other.body() != null) {
      boolean alike = one.body().equals(other.body());
      to.meters().count(alike ? Event.BODY_SAME : Event.BODY_OTHER);
    }
  }
}
