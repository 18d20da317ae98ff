package dev.berth.ingress.split;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.ShadowMeters.Event;
import dev.berth.routing.CallOwner;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
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
  private final long startedNanos;
  private @Nullable RoutedCall call;
  private @Nullable Response own;
  private @Nullable Response users;

  /**
   * @param of who made the request that is copied
   */
  ShadowCall(CallOwner of, ShadowTarget to, RouterLoop loop, long startedNanos) {
    this.of = of;
    this.to = to;
    this.loop = loop;
    this.startedNanos = startedNanos;
  }

  /** It takes a slot, or does not run. */
  void begin(Request request) {
    try {
      call = to.to().call(loop, request.withHeader(HEADER, "true"), this, startedNanos);
    } catch (RuntimeException broken) { // it must not fail its request
      LOG.error(
          "request {} could not be copied to {}", of.requestId(), to.to().deployment(), broken);
      to.meters().count(Event.FAILED);
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
    return startedNanos;
  }

  @Override
  public long deadlineNanos() {
    long users = of.deadlineNanos();
    return users == Long.MAX_VALUE ? startedNanos + MOST_NANOS : users;
  }

  @Override
  public boolean waits() {
    return false;
  }

  // --- told ---

  @Override
  public void onResponse(Response response, String replicaId) {
    if (response.body() instanceof Response.Body.Received received) {
      received.stream()
          .exceptionHandler(cut -> to.meters().count(Event.FAILED))
          .endHandler(end -> answered(response))
          .handler(piece -> {})
          .resume();
    } else {
      answered(response);
    }
  }

  private void answered(Response response) {
    to.meters().answered(loop.now() - startedNanos);
    own = response;
    compare();
  }

  @Override
  public void onFailure(BerthException failure) {
    to.meters().count(Event.FAILED);
  }

  /** What the client gets, or its head. */
  void userGot(Response response) {
    to.meters().userAnswered(loop.now() - startedNanos);
    users = response;
    compare();
  }

  private void compare() {
    Response one = own;
    Response other = users;
    if (one == null || other == null) {
      return;
    }
    boolean same = one.status() == other.status();
    to.meters().count(same ? Event.STATUS_SAME : Event.STATUS_OTHER);
    if (to.shadow().compares()
        && one.body() instanceof Response.Body.Whole body
        && other.body() instanceof Response.Body.Whole wanted) {
      boolean alike = body.bytes().equals(wanted.bytes());
      to.meters().count(alike ? Event.BODY_SAME : Event.BODY_OTHER);
    }
  }
}
