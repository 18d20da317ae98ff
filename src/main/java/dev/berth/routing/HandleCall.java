package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Pending;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.port.HeadBytes;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import org.jspecify.annotations.Nullable;

/** A call made by user code: its parameters, and its result in the form of the API. */
public class HandleCall implements CallObserver, Pending<Response> {
  private static final String TRACE_PARENT = "traceparent";
  private static final String TRACE_STATE = "tracestate";

  private final GangMember leg;
  private final RouterLoop loop;
  private final long arrivedNanos;
  private final Promise<Response> response = Promise.promise();
  private @Nullable RoutedCall call;

  public HandleCall(GangMember leg, RouterLoop loop) {
    this.leg = leg;
    this.loop = loop;
    this.arrivedNanos = loop.now();
  }

  /** Sets the routed call that {@link #cancel} ends, and returns this object. */
  public HandleCall of(RoutedCall made) {
    call = made;
    return this;
  }

  @Override
  public String requestId() {
    return leg.requestId();
  }

  @Override
  public String methodName() {
    return leg.methodName();
  }

  @Override
  public String sessionId() {
    return leg.sessionId();
  }

  @Override
  public int cost() {
    return leg.cost();
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }

  @Override
  public long deadlineNanos() {
    long own = leg.useNanos() == Long.MAX_VALUE ? Long.MAX_VALUE : arrivedNanos + leg.useNanos();
    return Math.min(leg.useDeadlineNanos(), own);
  }

  @Override
  public @Nullable RequestContext parent() {
    return leg.parent();
  }

  /** Completes the future. A response already arrives in its own task and request context. */
  @Override
  public void onResponse(Response received, String replicaId) {
    response.complete(received);
  }

  /** Fails the future in a new task, because a failure may come from within a call of user code. */
  @Override
  public void onFailure(BerthException failure) {
    loop.post(leg.parent(), () -> response.fail(failure));
  }

  @Override
  public Future<Response> future() {
    return response.future();
  }

  @Override
  public void cancel() {
    if (call != null) {
      call.cancel();
    }
  }

  /**
   * Checks the parts of the head that user code set. Headers passed on unchanged from the parent
   * were checked on receipt.
   *
   * @throws BerthException.HandlerFailed if the head is too large
   */
  void checkHead(Request request, String requestId) {
    RequestContext parent = leg.parent();
    Headers own = request.headers();
    Headers headers = parent != null && own == parent.headers() ? Headers.empty() : own;
    String query = request.query();
    long characters = request.method().length() + (long) request.path().length();
    characters += requestId.length() + (long) methodName().length() + sessionId().length();
    if (HeadBytes.mayExceed(headers, characters + (query == null ? 0 : query.length()))) {
      HeadBytes.check(
          headers, request.method(), request.path(), query, requestId, methodName(), sessionId());
    }
  }

  /** Returns the request as part of its parent's trace, unless it names its own trace. */
  public static Request traced(Request request, @Nullable RequestContext parent) {
    if (parent == null || request.headers().get(TRACE_PARENT) != null) {
      return request;
    }
    String traceParent = parent.headers().get(TRACE_PARENT);
    if (traceParent == null) {
      return request;
    }
    Headers headers = request.headers().with(TRACE_PARENT, traceParent);
    String state = parent.headers().get(TRACE_STATE);
    if (state != null && headers.get(TRACE_STATE) == null) {
      headers = headers.with(TRACE_STATE, state);
    }
    return request.withHeaders(headers);
  }
}
