package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.protocol.port.FieldSink;
import dev.berth.protocol.port.UpstreamNotRun;
import dev.berth.simulation.Executions.Execution;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.time.Duration;
import java.util.SplittableRandom;

/**
 * User code of every temper: quick, slow, failing, streaming, stubborn (it ignores cancel), and bad
 * enough to block its loop. Which one a request meets is drawn from the seed when it runs.
 */
final class SimulatedHandler implements AsyncHandler {
  /** A body over one message: its replica streams it. */
  private static final int LARGE_BYTES = 150_000;

  /** The longest that one takes which is neither slow nor stubborn. */
  private static final Duration QUICK = Duration.ofMillis(4);

  private final Simulation on;
  private final String replicaId;
  private final SimulatedLoop loop;
  private final SplittableRandom random;
  private final boolean streams;

  SimulatedHandler(Simulation on, String replicaId, SimulatedLoop loop) {
    this.on = on;
    this.replicaId = replicaId;
    this.loop = loop;
    this.random = on.world.randomness();
    this.streams = random.nextBoolean();
  }

  @Override
  public boolean streamsRequests() {
    return streams;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    Execution execution = on.executions.begin(context, replicaId);
    if (on.upstreams && random.nextInt(5) == 0) {
      return context
          .after(micros(3_000))
          .compose(none -> notRun(execution))
          .onComplete((answer, failure) -> on.executions.settle(execution));
    }
    Future<Response> response;
    try {
      response =
          request.body() instanceof Request.Body.Streamed streamed
              ? read(request, streamed.stream(), execution, context)
              : readWhole(request, execution, context);
    } catch (IllegalStateException thrown) {
      on.executions.settle(execution);
      throw thrown;
    }
    return response.onComplete((answer, failure) -> on.executions.settle(execution));
  }

  private Future<Response> notRun(Execution execution) {
    on.executions.notRun(execution);
    return Future.failedFuture(new UpstreamNotRun("as drawn", -1));
  }

  // --- the request's body ---

  Future<Response> readWhole(Request request, Execution execution, RequestContext context) {
    String total = request.headers().get(SimulatedSource.TOTAL);
    if (total != null) {
      checkWhole(execution, request.bytes().length(), total);
      checkContent(execution, 0, request.bytes());
      on.coverage.seen(Transition.BODY_GATHERED_WHOLE);
    }
    return respond(execution, context);
  }

  private void checkWhole(Execution execution, long bytes, String total) {
    if (bytes != Long.parseLong(total)) {
      throw on.world.fail(
          execution.requestId + ": a whole body of " + bytes + " bytes (expected: " + total + ")");
    }
  }

  private void checkContent(Execution execution, long from, Buffer piece) {
    if (!SimulatedSource.isContent((int) from, piece)) {
      throw on.world.fail(execution.requestId + ": other bytes than were sent, from " + from);
    }
  }

  /** Reads all of it and answers, or answers while it reads, or before. */
  private Future<Response> read(
      Request request, ReadStream<Buffer> stream, Execution execution, RequestContext context) {
    String total = request.headers().get(SimulatedSource.TOTAL);
    execution.readsStream = true;
    Promise<Void> read = Promise.promise();
    boolean pieceByPiece = random.nextInt(5) == 0;
    stream.exceptionHandler(
        failure -> {
          on.coverage.seen(Transition.BODY_CUT);
          read.tryFail(failure);
        });
    stream.endHandler(
        end -> {
          if (total != null) {
            checkWhole(execution, execution.bytesRead, total);
            on.coverage.seen(Transition.BODY_STREAMED_WHOLE);
          }
          read.tryComplete();
        });
    stream.handler(
        piece -> {
          if (total != null) {
            checkContent(execution, execution.bytesRead, piece);
          }
          execution.bytesRead += piece.length();
          if (pieceByPiece) {
            loop.start(micros(3_000).toNanos(), () -> stream.fetch(1));
          }
        });
    int drawn = random.nextInt(20);
    if (drawn == 0) {
      on.coverage.seen(Transition.ANSWERED_BEFORE_ITS_BODY);
      return respond(execution, context); // reads nothing
    }
    Runnable start = pieceByPiece ? () -> stream.fetch(1) : stream::resume;
    if (drawn < 3) {
      on.coverage.seen(Transition.BODY_READ_LATER);
      loop.start(micros(200_000).toNanos(), start);
    } else {
      start.run();
    }
    return drawn < 7
        ? respond(execution, context) // while it reads
        : read.future().compose(none -> respond(execution, context));
  }

  // --- the answer ---

  private Future<Response> respond(Execution execution, RequestContext context) {
    int temper = random.nextInt(100);
    if (temper < 12) {
      Response answer = whole(execution, 0);
      boolean large = random.nextInt(8) == 0;
      return Future.succeededFuture(large ? answer.withHeader("x-large", Workload.LARGE) : answer);
    }
    if (temper < 55) {
      return context.after(micros(4_000)).map(none -> whole(execution, 0));
    }
    if (temper < 63) {
      return slowly(context, 900_000, Phase.RESPOND).map(none -> whole(execution, 0));
    }
    if (temper < 70) {
      return fail(context);
    }
    if (temper < 74) {
      return stubborn().map(none -> whole(execution, 0));
    }
    if (temper < 76 && !on.orderly) {
      loop.stall(micros(80_000).toNanos());
      return Future.succeededFuture(whole(execution, 0));
    }
    if (temper < 78) {
      return context
          .after(micros(2_000))
          .map(none -> whole(execution, LARGE_BYTES - random.nextInt(LARGE_BYTES / 2)));
    }
    return context.after(micros(1_000)).map(none -> stream(execution, context));
  }

  /** Takes longer than others ever do, mostly; it was slow when it then still ran. */
  private Future<Void> slowly(RequestContext context, int mostMicros, Phase phase) {
    Duration drawn = micros(mostMicros);
    Future<Void> waited = context.after(drawn);
    return drawn.compareTo(QUICK) <= 0
        ? waited
        : waited.onSuccess(none -> on.coverage.fault(Fault.HANDLER_SLOW, phase));
  }

  private Duration micros(int most) {
    return Duration.ofNanos(1_000L * random.nextInt(most));
  }

  static Response whole(Execution execution, int padding) {
    String text = " ".repeat(padding) + execution.requestId + "#end";
    execution.bytesWritten = text.length();
    return Response.text(text);
  }

  private Future<Response> fail(RequestContext context) {
    if (random.nextBoolean()) {
      throw failure(context, Phase.RESPOND);
    }
    return context
        .after(micros(3_000))
        .compose(none -> Future.failedFuture(failure(context, Phase.RESPOND)));
  }

  /** Whom it is cancelled for, learns nothing of it. */
  private IllegalStateException failure(RequestContext context, Phase phase) {
    if (!context.cancelled()) {
      on.coverage.fault(Fault.HANDLER_FAILURE, phase);
    }
    return new IllegalStateException("as drawn");
  }

  /** Settles in its own time, whatever the context says. */
  private Future<Void> stubborn() {
    Promise<Void> done = Promise.promise();
    loop.start(micros(1_500_000).toNanos(), done::complete);
    return done.future();
  }

  private Response stream(Execution execution, RequestContext context) {
    return Response.stream(
        "text/event-stream",
        writer -> {
          on.executions.produce(execution);
          if (on.upstreams) {
            ((FieldSink) context).passFields(0, Headers.of("sum", "1"));
          }
          return write(execution, context, writer, random.nextInt(6))
              .onComplete((none, failure) -> on.executions.settle(execution));
        });
  }

  private Future<Void> write(
      Execution execution, RequestContext context, ResponseWriter writer, int left) {
    if (left == 0) {
      return piece(execution, writer, execution.requestId + "#end");
    }
    if (random.nextInt(30) == 0) {
      return Future.failedFuture(failure(context, Phase.STREAM));
    }
    boolean large = random.nextInt(4) == 0 || on.streamsAreLong;
    String text = large ? "x".repeat(random.nextInt(40_000)) : "piece " + left;
    Future<Void> written = piece(execution, writer, text);
    boolean slow = random.nextInt(20) == 0;
    if (random.nextInt(4) == 0) {
      return write(execution, context, writer, left - 1); // without waiting for the receiver
    }
    return written
        .compose(
            none -> slow ? slowly(context, 600_000, Phase.STREAM) : context.after(micros(3_000)))
        .compose(none -> write(execution, context, writer, left - 1));
  }

  private static Future<Void> piece(Execution execution, ResponseWriter writer, String text) {
    execution.bytesWritten += text.length();
    return writer.write(Buffer.buffer(text));
  }
}
