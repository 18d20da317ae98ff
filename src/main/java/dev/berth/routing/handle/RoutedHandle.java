package dev.berth.routing.handle;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.Selections;
import dev.berth.api.StreamedResponse;
import dev.berth.api.TypedHandle;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.HandleCall;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.stream.InboundStream;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.streams.ReadStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A handle of user code on one event loop; calls from other threads switch to that loop. */
public record RoutedHandle(
    DeploymentRouter router, RouterLoop loop, CallOptions options, @Nullable RequestContext parent)
    implements HandleFactory {
  public RoutedHandle(DeploymentRouter router, RouterLoop loop) {
    this(router, loop, CallOptions.defaults(), null);
  }

  /** Returns a handle for code that runs on an event loop. */
  public static HandleFactory of(
      Routers routers, DeploymentId deployment, RouterSettings settings, int loop) {
    return new RoutedHandle(routers.router(deployment, settings), routers.loop(loop));
  }

  @Override
  public DeploymentId deployment() {
    return router.deployment();
  }

  @Override
  public DeploymentHandle options(CallOptions newOptions) {
    return new RoutedHandle(router, loop, newOptions, parent);
  }

  @Override
  public DeploymentHandle within(RequestContext newParent) {
    return new RoutedHandle(router, loop, options, newParent);
  }

  @Override
  public <I, O> TypedHandle<I, O> typed(Class<I> request, Class<O> response) {
    return TypedHandle.of(this, request, response, loop.sharesValues());
  }

  // --- calls ---

  @Override
  public Pending<Response> start(Request request) {
    return start(request, new HandleCall(leg(), loop));
  }

  /** Starts a call with parameters of its own. */
  public Pending<Response> start(Request request, HandleCall shown) {
    RoutedCall call = newCall(request, shown);
    loop.run(() -> call.begin(parent));
    return shown.of(call);
  }

  @Override
  public Future<StreamedResponse> stream(Request request) {
    return start(request).future().map(this::streamed);
  }

  private StreamedResponse streamed(Response response) {
    Response.Body body = response.body();
    if (body instanceof Response.Body.Received received) {
      return StreamedResponse.of(
          response.status(), response.headers(), received.stream(), received.cancel());
    }
    ReadStream<io.vertx.core.buffer.Buffer> whole =
        InboundStream.whole(((Response.Body.Whole) body).bytes(), loop::run);
    return StreamedResponse.of(response.status(), response.headers(), whole, () -> {});
  }

  @Override
  public Future<List<BroadcastAnswer>> broadcast(Request request) {
    if (!(request.body() instanceof Request.Body.Whole)) {
      return Future.failedFuture(
          new IllegalArgumentException(
              "body: streamed (expected: buffered, since each replica gets it)"));
    }
    Promise<List<BroadcastAnswer>> all = Promise.promise();
    loop.run(
        () -> {
          List<RoutedReplica> replicas = router.available() ? router.routable() : List.of();
          if (replicas.isEmpty()) {
            BerthException none =
                new BerthException.DeploymentUnavailable(
                    "Deployment " + router.deployment() + " has no running replica.");
            loop.post(() -> all.fail(none));
            return;
          }
          Broadcast broadcast = new Broadcast(loop, parent, replicas, all);
          for (int place = 0; place < replicas.size(); place++) {
            RoutedCall call = newCall(request, broadcast.owner(place, leg()));
            call.goOnlyTo(replicas.get(place));
            call.begin(parent);
          }
        });
    return all.future();
  }

  private RoutedCall newCall(Request request, CallObserver owner) {
    return RoutedCall.of(router, loop, HandleCall.traced(request, parent), owner, parent);
  }

  // --- choose ---

  @Override
  public Pending<ReplicaSelection> startChoose() {
    return StartedLegs.start(loop, leg());
  }

  @Override
  public Pending<Selections> startChooseAll(
      List<? extends DeploymentHandle> handles, Optional<Duration> wait) {
    return StartedLegs.start(loop, handles, wait);
  }

  /** Returns the parameters of a slot for this handle's calls, with the deadline as of now. */
  public GangMember leg() {
    return new GangMember(
        router,
        options
            .reservationTtl()
            .map(Duration::toNanos)
            .orElse(router.settings().reservationTtlNanos()),
        requestId(),
        options.methodName().orElse(""),
        sessionId(),
        parent,
        deadline(),
        options.timeout().isPresent() ? Long.MAX_VALUE : router.settings().requestTimeoutNanos(),
        options.cost());
  }

  // --- inherited from the parent ---

  private String requestId() {
    return options.requestId().orElse(parent == null ? "" : parent.requestId());
  }

  private String sessionId() {
    if (parent == null || options.sessionId().isPresent()) {
      return options.sessionId().orElse("");
    }
    return parent.sessionId().orElse("");
  }

  /** Returns the earlier of the handle's own and the parent's deadline, on the loop's clock. */
  private long deadline() {
    long now = loop.now();
    long left = options.timeout().map(Duration::toNanos).orElse(Long.MAX_VALUE);
    if (parent != null) {
      left = Math.min(left, parent.remaining().map(Duration::toNanos).orElse(Long.MAX_VALUE));
    }
    return left == Long.MAX_VALUE ? SlotRequest.NO_DEADLINE : now + left;
  }
}
