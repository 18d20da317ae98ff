package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.dialect.DialectProblem;
import dev.berth.ingress.edge.CostRule;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.traffic.TrafficPolicy;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** The parts of an exchange that depend on the API of its route; here, those of plain HTTP. */
abstract class ExchangeForm {
  // headers of requests that control how Berth handles them
  static final CharSequence EXPECT = HttpHeaders.createOptimized("expect");
  static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");
  static final CharSequence SESSION_ID = HttpHeaders.createOptimized("x-session-id");
  static final CharSequence METHOD = HttpHeaders.createOptimized("x-serve-call-method");
  static final CharSequence KEY = HttpHeaders.createOptimized(TrafficPolicy.KEY_HEADER);
  static final CharSequence REQUEST_TIMEOUT =
      HttpHeaders.createOptimized("x-request-timeout-seconds");
  static final CharSequence DISCONNECT_DISABLED =
      HttpHeaders.createOptimized("x-request-disconnect-disabled");

  private static final long MAX_WHOLE_BYTES = 64 << 20;

  int cost = 1; // slots that the request takes

  /** Returns the number of slots of one replica that the request takes. */
  public int cost() {
    return cost;
  }

  /** Returns whether the request takes slots. */
  boolean takesSlots() {
    return true;
  }

  /**
   * Returns the maximum bytes of a body that is read whole, whichever replica serves it; 0 to leave
   * that to the deployment.
   */
  int gatheredBytes() {
    return 0;
  }

  abstract boolean isOver();

  /** Refuses a request that did not run. */
  abstract void refuse(DialectProblem problem);

  abstract void refuseBody(HttpErrorResponse why);

  public abstract void onFailure(BerthException failure);

  /** Calls the router, once the cost of the request is known. */
  abstract void proceed(Request.Body body, long nowNanos);

  /** Returns the bytes up to which the rule of the cost needs a body whole; 0 if it does not. */
  static int wholeBytes(ServingLoop loop, IngressRoute to, MultiMap headers) {
    CostRule rule = to.cost();
    return rule != null && rule.needsBody(headers) && ReservationHeader.of(headers) == null
        ? loop.wholeBytes(MAX_WHOLE_BYTES)
        : 0;
  }

  /** Determines the cost of the request and calls the router, or refuses the request. */
  final void determineCost(
      ServingLoop loop, IngressRoute to, MultiMap headers, Request.Body body, long nowNanos) {
    CostRule rule = to.cost();
    Buffer whole = body instanceof Request.Body.Whole all ? all.bytes() : null;
    if (isOver()) {
      return;
    }
    if (rule == null || !takesSlots() || ReservationHeader.of(headers) != null) {
      proceed(body, nowNanos); // on the slots of its reservation, or on none
    } else if (whole == null && rule.needsBody(headers)) {
      refuseBody(ErrorResponses.TOO_MANY_REQUESTS); // no memory for the whole body
    } else {
      loop.scan(
          this,
          to.application(),
          whole == null || !rule.readsBody() ? Buffer.buffer() : whole,
          nowNanos,
          scanned -> rule.slots(headers, whole == null ? -1 : whole.length(), scanned),
          (slots, now) -> {
            cost = slots;
            proceed(body, now);
          });
    }
  }

  /** Starts the call of a request. */
  RoutedCall start(
      DeploymentRouter router, RouterLoop on, Request request, CallObserver owner, long nowNanos) {
    return RoutedCall.start(router, on, request, owner, nowNanos);
  }

  /**
   * Returns the bytes to send for the next bytes of a response, possibly none.
   *
   * @param last whether the response ends with them
   */
  Buffer filter(Buffer piece, boolean last) {
    return piece;
  }

  /** Returns whether the filter may change the length of a response. */
  boolean changesLength() {
    return false;
  }

  /** Returns the body of a failure in the form of the API; null for the usual form. */
  @Nullable Buffer errorBody(HttpErrorResponse failure) {
    return null;
  }

  /**
   * Returns a last event that reports a failure amid a response without a length; null to abort the
   * response.
   */
  @Nullable Buffer errorEvent(HttpErrorResponse failure) {
    return null;
  }

  /** Handles the end of the request, before it is logged. */
  void onFinish(int status, long nowNanos) {}
}
