package dev.berth.node;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchResult;
import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.node.loops.RequestLocal;
import dev.berth.protocol.BusMessage.CallRequest;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/** Builders that a configuration names. */
public final class TestApplications {
  private static final AsyncHandler THREAD =
      (request, context) -> Future.succeededFuture(Response.text(Thread.currentThread().getName()));

  /** Two deployments. */
  public static Application plain() {
    return Application.of(
        Deployment.async("front", THREAD),
        Deployment.async("back", THREAD).withNumReplicas(3).withMaxOngoingRequests(7));
  }

  /** Answers in batches. */
  public static Application batched() {
    return Application.of(
        Deployment.batch(
            "batched",
            items ->
                items.stream()
                    .map(each -> BatchResult.of(Response.text(items.size() + " together")))
                    .toList()));
  }

  /** Takes 10 ms for a request. */
  public static Application slowly() {
    BlockingHandler handler =
        (request, context) -> {
          LockSupport.parkNanos(10_000_000);
          return Response.text("slowly");
        };
    return Application.of(Deployment.of("batched", replica -> handler));
  }

  /** As {@link #batched}, and takes 10 ms for a batch. */
  public static Application batchedSlowly() {
    BatchHandler handler =
        items -> {
          LockSupport.parkNanos(10_000_000);
          return Collections.nCopies(items.size(), BatchResult.of(Response.text("slowly")));
        };
    return Application.of(Deployment.batch("batched", handler));
  }

  /** Answers with its replica. */
  public static Application where() {
    return Application.of(
        Deployment.of(
            "where",
            replica ->
                (AsyncHandler)
                    (request, context) ->
                        Future.succeededFuture(Response.text(replica.replicaId()))));
  }

  /** Tells of itself, but for the first time. */
  public static Application telling() {
    return Application.of(Deployment.of("telling", replica -> new Telling()));
  }

  private static final class Telling implements AsyncHandler {
    private boolean told;

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      return THREAD.handle(request, context);
    }

    @Override
    public Future<Map<String, Integer>> recordAutoscalingStats() {
      boolean first = !told;
      told = true;
      return first ? Future.failedFuture("nothing yet") : Future.succeededFuture(Map.of("one", 1));
    }
  }

  /** One deployment, named by {@code args.name}. */
  public static Application named(Map<String, Object> args) {
    return Application.of(Deployment.async((String) args.get("name"), THREAD));
  }

  /** Answers with the name of its thread, on every loop. */
  public static Application spread() {
    return Application.of(Deployment.async("spread", THREAD).withSpreadOverLoops(true));
  }

  /** Answers with whose its work was, as the log would say it, at each of its points. */
  public static Application whose() {
    Deployment back =
        Deployment.async(
                "back",
                (request, context) ->
                    request.path().equals("/fail")
                        ? Future.failedFuture(new BerthException.Timeout("as asked"))
                        : context.after(Duration.ofMillis(1)).map(none -> Response.text(whose(""))))
            .withMaxOngoingRequests(1); // so that others wait
    Deployment blocking =
        Deployment.blocking(
            "blocking",
            (request, context) -> Response.text(String.valueOf(MDC.getCopyOfContextMap())));
    return Application.of(Deployment.async("front", TestApplications::askAll), back, blocking);
  }

  private static Future<Response> askAll(Request request, RequestContext context) {
    StringBuilder said = new StringBuilder(whose("called"));
    DeploymentHandle back = context.handle("back");
    return context
        .after(Duration.ofMillis(1))
        .onSuccess(none -> said.append(whose("after")))
        .compose(none -> back.call(Request.get("/")))
        .onSuccess(answer -> said.append(whose("answer")))
        .compose(answer -> back.choose())
        .onSuccess(selection -> said.append(whose("chosen")))
        .compose(selection -> selection.dispatch(Request.get("/")))
        .onSuccess(answer -> said.append(whose("dispatched")))
        .compose(answer -> back.call(Request.get("/fail")))
        .recover(
            failed -> {
              said.append(whose("failed"));
              return context.withTimeout(Duration.ZERO).handle("back").call(Request.get("/"));
            })
        .recover(
            late -> {
              said.append(whose("late"));
              return context.handle("blocking").call(Request.get("/"));
            })
        .compose(answer -> answer.bytes(9_999))
        .map(fields -> Response.text(said + "\nblocking " + fields));
  }

  private static String whose(String point) {
    return "\n" + point + " " + RequestLocal.fields();
  }

  /** Answers nobody in time; what asks {@code /spent} is out of its own time. */
  public static Application never() {
    AsyncHandler handler =
        (request, context) ->
            request.path().endsWith("/spent")
                ? context.withTimeout(Duration.ofMillis(-1)).handle("never").call(Request.get("/"))
                : context.after(Duration.ofHours(1)).map(none -> Response.text(""));
    return Application.of(Deployment.async("never", handler));
  }

  /** Answers with how many requests the event bus of Vert.x carried after the first one. */
  public static Application carried() {
    AtomicInteger carried = new AtomicInteger(-1);
    AsyncHandler handler =
        (request, context) -> {
          if (carried.compareAndSet(-1, 0)) {
            Vertx.currentContext()
                .owner()
                .eventBus()
                .addOutboundInterceptor(
                    delivery -> {
                      if (delivery.body() instanceof CallRequest) {
                        carried.incrementAndGet();
                      }
                      delivery.next();
                    });
          }
          return Future.succeededFuture(Response.text(carried.toString()));
        };
    return Application.of(Deployment.async("carried", handler));
  }

  /** Fails every request. */
  public static Application broken() {
    return Application.of(
        Deployment.async(
            "broken",
            (request, context) ->
                Future.failedFuture(new BerthException.HandlerFailed("for the test", null))));
  }

  /** Where a test holds user code up: it enters, and goes on when it is let. */
  static final class Gate {
    final CompletableFuture<Void> entered = new CompletableFuture<>();
    final CompletableFuture<Void> open = new CompletableFuture<>();
    final CompletableFuture<Void> interrupted = new CompletableFuture<>();

    private void pass() throws Exception {
      entered.complete(null);
      try {
        open.get();
      } catch (InterruptedException stopped) {
        interrupted.complete(null);
        throw stopped;
      }
    }
  }

  private static final Map<String, Gate> GATES = new ConcurrentHashMap<>();

  /** A gate by the name that {@code args} have for it. */
  static Gate gate(String name) {
    return GATES.computeIfAbsent(name, unknown -> new Gate());
  }

  /** Lets through whatever still waits; the next test has gates of its own. */
  static void openGates() {
    GATES.values().forEach(gate -> gate.open.complete(null));
    GATES.clear();
  }

  /**
   * Answers with the threads on which it blocked, at each of its points; a request to {@code /held}
   * blocks at the gate {@code args.held}, in turn with others and beside them.
   */
  public static Application works(Map<String, Object> args) {
    Gate held = gate((String) args.get("held"));
    Deployment back = Deployment.async("back", THREAD);
    AsyncHandler front =
        (request, context) -> {
          if (request.path().endsWith("/held")) {
            return Future.join(worker(true, held::pass), worker(false, held::pass))
                .map(done -> Response.text("held"));
          }
          return Future.join(worker(true, () -> {}), worker(false, () -> {}))
              .compose(
                  called ->
                      Future.join(
                          Future.succeededFuture(called),
                          context.after(Duration.ofMillis(1)).compose(none -> worker(true)),
                          context.handle("back").call(request).compose(none -> worker(true))))
              .map(threads -> Response.text(threads.list().toString()));
        };
    return Application.of(Deployment.async("front", front).withMaxOngoingRequests(50), back);
  }

  /** Blocks its event loop at the gate {@code args.held} when it is asked for {@code /held}. */
  public static Application blocks(Map<String, Object> args) {
    Gate held = gate((String) args.get("held"));
    AsyncHandler handler =
        (request, context) -> {
          try {
            if (request.path().endsWith("/held")) {
              held.pass();
            }
          } catch (Exception stopped) {
            return Future.failedFuture(stopped);
          }
          return THREAD.handle(request, context);
        };
    return Application.of(Deployment.async("front", handler));
  }

  /** What blocks. */
  private interface Blocking {
    void run() throws Exception;
  }

  private static Future<String> worker(boolean ordered) {
    return worker(ordered, () -> {});
  }

  private static Future<String> worker(boolean ordered, Blocking work) {
    return Vertx.currentContext()
        .executeBlocking(
            () -> {
              work.run();
              return Thread.currentThread().getName();
            },
            ordered);
  }

  /**
   * One deployment whose requests to {@code /held} wait at the gate {@code args.held}; that is
   * built, and whose replicas start, past the gates {@code args.build} and {@code args.start} if
   * there are such.
   */
  public static Application gated(Map<String, Object> args) throws Exception {
    Object build = args.get("build");
    if (build != null) {
      gate((String) build).pass();
    }
    Gate held = gate((String) args.get("held"));
    Object start = args.get("start");
    return Application.of(
        Deployment.of(
            "front",
            replica ->
                new AsyncHandler() {
                  @Override
                  public void start() throws Exception {
                    if (start != null) {
                      gate((String) start).pass();
                    }
                  }

                  @Override
                  public Future<Response> handle(Request request, RequestContext context) {
                    Response answer = Response.text("ok");
                    if (!request.path().endsWith("/held")) {
                      return Future.succeededFuture(answer);
                    }
                    held.entered.complete(null);
                    return Future.fromCompletionStage(held.open).map(answer);
                  }
                }));
  }

  /** A replica that cannot start. */
  public static Application unstartable() {
    return Application.of(
        Deployment.of(
            "broken",
            replica -> {
              throw new IllegalStateException("no model");
            }));
  }

  public static String text() {
    return "text";
  }

  public static @Nullable Application nothing() {
    return null;
  }

  public static Application failing() {
    throw new IllegalStateException("two\nlines", new ArithmeticException("why"));
  }

  public static Application withNumber(int number) {
    return plain();
  }

  public Application ofInstance() {
    return plain();
  }

  /** Cannot be initialised. */
  public static final class Broken {
    private static final int VALUE = Integer.parseInt("no number");

    private Broken() {}

    public static Application build() {
      return named(Map.of("name", "n" + VALUE));
    }
  }
}
