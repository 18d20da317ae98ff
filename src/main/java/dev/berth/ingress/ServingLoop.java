package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.config.ExplainOptions;
import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.DialectProblem;
import dev.berth.metrics.HttpMeters;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.RouterLoop;
import io.vertx.core.AsyncResult;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * View of one event loop's ingress for its connections, requests and ports: router, clock, meters,
 * memory, limits, and the entry of requests. A class rather than an interface, so that its fields
 * cost no virtual call per request. Confined to the event loop, except {@link #later}.
 */
abstract class ServingLoop {
  /** Maximum size in bytes of a body that the event loop scans; in 1 ms at most. */
  private static final int MAX_SCANNED_BYTES = 1 << 18;

  final Ingress ingress;
  final RouterLoop router;
  final HttpMeters meters;
  final RequestIds requestIds;
  final RequestMemoryBudget.LoopMemoryShare room;
  final ResponseMemoryBudget.ResponseMemoryQueue<LongConsumer>
      answers; // requests that wait for response memory
  // connections of unknown protocol; each sweeps one
  final Set<LongConsumer> unopened = new HashSet<>();
  final LoopExecutor turns;
  final TickTimer.LoopTick sweeps;
  final ReceivedHeaders.HeaderCounter headers = new ReceivedHeaders.HeaderCounter();
  final HopByHop passed = new HopByHop();
  final ExplainSampler explains;
  final RandomGenerator traffics; // random choices of splits and shadows

  // Limits of an exchange, in its units.
  final long requestTimeoutNanos;
  final long maxBodyBytes;
  final long bodyIdleNanos;
  final int minBodyBytesPerSecond;
  final long bodyRateGraceNanos;
  final long streamIdleNanos;
  final int streamWindowBytes;
  final long keepAliveNanos;
  final long headerReadNanos;

  private final Context context;
  private final LongSupplier nanoClock;
  private long coarseNanos;

  ServingLoop(Ingress ingress, RouterLoop router, int index, Context context) {
    this.ingress = ingress;
    this.router = router;
    this.context = context;
    this.nanoClock = ingress.nanoClock;
    this.coarseNanos = nanoClock.getAsLong();
    this.turns = router.loop();
    this.sweeps = router.ticks().every(Ingress.SWEEP_NANOS);
    this.meters = ingress.meters.addIngressLoop();
    this.requestIds = new RequestIds(ingress.incarnation + index);
    this.room = ingress.requestRoom.newShare();
    this.answers = ingress.answerRoom.new ResponseMemoryQueue<>();
    this.traffics = new SplittableRandom(ingress.incarnation * 31 + index);
    Settings settings = ingress.settings;
    this.explains =
        new ExplainSampler(
            settings.get(ExplainOptions.HEADER),
            settings.get(ExplainOptions.SAMPLE_RATE),
            new SplittableRandom(~ingress.incarnation + index),
            ingress.explainNext);
    Duration timeout = settings.find(HttpOptions.REQUEST_TIMEOUT_S);
    this.requestTimeoutNanos = timeout == null ? ResolvedRoute.NO_TIMEOUT : timeout.toNanos();
    this.maxBodyBytes = settings.get(LimitOptions.MAX_BODY_BYTES);
    this.bodyIdleNanos = settings.get(LimitOptions.IDLE_TIMEOUT_S).toNanos();
    this.minBodyBytesPerSecond = settings.get(LimitOptions.MIN_BODY_BYTES_PER_S);
    this.bodyRateGraceNanos = settings.get(LimitOptions.BODY_RATE_GRACE_S).toNanos();
    this.streamIdleNanos = settings.get(LimitOptions.STREAM_IDLE_TIMEOUT_S).toNanos();
    this.streamWindowBytes = settings.get(LimitOptions.STREAM_WINDOW_BYTES);
    this.keepAliveNanos = settings.get(HttpOptions.KEEP_ALIVE_TIMEOUT_S).toNanos();
    this.headerReadNanos = settings.get(LimitOptions.HEADER_READ_TIMEOUT_S).toNanos();
  }

  /** Handles a request with a complete head. */
  abstract void handle(HttpServerRequest request);

  /** Refuses a request, and closes the connection if it is HTTP/1. */
  abstract void refuse(HttpServerRequest request, HttpErrorResponse why);

  /** Continues parked requests in order of arrival, if the routes have changed. */
  abstract void unpark();

  /** Returns the number of parked requests. Thread-safe. */
  abstract int parked();

  /** Announces the drain to clients, where the protocol needs no response for that. */
  abstract void drain();

  /** Adjusts the large-response budget by a positive or negative number of bytes. */
  void correctLarge(long bytes) {
    assert router.isHere();
    ingress.answerRoom.bytes.take(bytes);
    if (bytes < 0) {
      lookForRoom();
    }
  }

  /** Removes a request from the queue for large-response memory. */
  void forgetLarge(LongConsumer gone) {
    answers.forget(gone);
    lookForRoom();
  }

  private void lookForRoom() {
    if (!answers.isEmpty()) {
      later(() -> answers.look(coarseNanos, LongConsumer::accept));
    }
  }

  long now() {
    return nanoClock.getAsLong();
  }

  /** Returns the time of the last sweep, which is precise enough for swept timeouts. */
  long coarseNow() {
    return coarseNanos;
  }

  /** Reads the clock at the start of a sweep. */
  long sweepNow() {
    coarseNanos = now();
    return coarseNanos;
  }

  /** Runs a task on this loop after the current one. Thread-safe. */
  void later(Runnable task) {
    context.runOnContext(run -> task.run());
  }

  /**
   * Scans a whole body: a short one here, a large one on a thread of the application. A {@link
   * DialectProblem} of the scan, or of the use of its result, refuses the request.
   *
   * @param scan of the body, on any thread
   * @param use receives the result and the present time, on the event loop; not called if the
   *     client has left
   */
  <T> void scan(
      ExchangeForm exchange,
      String application,
      Buffer body,
      long nowNanos,
      Function<Buffer, T> scan,
      ObjLongConsumer<T> use) {
    if (body.length() <= MAX_SCANNED_BYTES) {
      finish(exchange, () -> scan.apply(body), nowNanos, use);
      return;
    }
    scan(application, () -> scanLarge(exchange, body, scan))
        .onComplete(found -> finish(exchange, () -> result(found), now(), use));
  }

  /** Scans a body on another thread, unless the client is seen to have left meanwhile. */
  private static <T> T scanLarge(ExchangeForm exchange, Buffer body, Function<Buffer, T> scan) {
    if (exchange.isOver()) {
      throw new CancellationException();
    }
    return scan.apply(body);
  }

  private static <T> T result(AsyncResult<T> done) {
    if (done.failed()) {
      throw done.cause() instanceof DialectProblem problem
          ? problem
          : new BerthException.HandlerFailed("body not scanned", done.cause());
    }
    return done.result();
  }

  private static <T> void finish(
      ExchangeForm exchange, Supplier<T> found, long nowNanos, ObjLongConsumer<T> use) {
    if (exchange.isOver()) {
      return; // the client left while its body was scanned
    }
    try {
      use.accept(found.get(), nowNanos);
    } catch (DialectProblem problem) {
      exchange.refuse(problem);
    } catch (BerthException failure) {
      exchange.onFailure(failure);
    }
  }

  /**
   * Runs work that would block this loop on a thread of an application, one piece after the other,
   * and completes on this loop.
   */
  <T> Future<T> scan(String application, Callable<T> work) {
    Promise<T> done = ((ContextInternal) context).promise();
    turns.callBlocking(application, work).onComplete(done);
    return done.future();
  }

  /** Returns the maximum bytes of a body that is read whole; at most {@code maxBytes}. */
  int wholeBytes(long maxBytes) {
    return (int) Math.min(maxBytes, Math.min(maxBodyBytes, ingress.bodies.most / 2));
  }

  void after(long millis, Runnable task) {
    context.owner().setTimer(millis, timer -> task.run());
  }
}
