package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.InputStream;
import java.time.Duration;
import java.util.zip.CRC32;

/** Handlers that read bodies of any size in every way; the last part of the path says which. */
public final class StreamsApplication {
  private StreamsApplication() {}

  /** Handlers on the event loop that stream. */
  public static Application build() {
    return Application.of(
        Deployment.async("front", new Front()),
        Deployment.async("counter", streaming(StreamsApplication::count)));
  }

  /** A handler that takes bodies whole. */
  public static Application whole() {
    return Application.of(
        Deployment.async(
            "whole",
            (request, context) -> {
              CRC32 sum = new CRC32();
              sum.update(request.bytes().getBytes());
              return Future.succeededFuture(
                  Response.text(request.bytes().length() + " " + sum.getValue()));
            }));
  }

  /** A handler that blocks, and streams in and out. */
  public static Application blocking() {
    return Application.of(Deployment.blocking("blocking", new Blocking()));
  }

  private static AsyncHandler streaming(AsyncHandler handler) {
    return new AsyncHandler() {
      @Override
      public boolean streamsRequests() {
        return true;
      }

      @Override
      public Future<Response> handle(Request request, RequestContext context) {
        return handler.handle(request, context);
      }
    };
  }

  /** Answers with the number of bytes and their checksum. */
  private static Future<Response> count(Request request, RequestContext context) {
    Promise<Response> answer = Promise.promise();
    CRC32 sum = new CRC32();
    long[] bytes = new long[1];
    request.stream()
        .exceptionHandler(answer::tryFail)
        .endHandler(end -> answer.complete(Response.text(bytes[0] + " " + sum.getValue())))
        .handler(
            piece -> {
              bytes[0] += piece.length();
              sum.update(piece.getBytes());
            })
        .resume();
    return answer.future();
  }

  private static final class Front implements AsyncHandler {
    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String how = request.path().substring(request.path().lastIndexOf('/') + 1);
      return switch (how) {
        case "count" -> count(request, context);
        case "slow" -> slowly(request, context);
        case "echo" -> Future.succeededFuture(echo(request.stream()));
        case "early" -> Future.succeededFuture(Response.text("enough"));
        case "paused" -> context.after(Duration.ofSeconds(30)).map(none -> Response.text("late"));
        case "relay" -> context.handle("counter").call(request);
        case "hang" -> hang(request, false);
        case "react" -> hang(request, true);
        default -> Future.succeededFuture(Response.json(404, "{}"));
      };
    }

    private static Response echo(ReadStream<Buffer> body) {
      return Response.stream(
          "application/octet-stream",
          writer -> {
            Promise<Void> done = Promise.promise();
            body.exceptionHandler(done::tryFail)
                .endHandler(end -> done.tryComplete())
                .handler(
                    piece ->
                        writer.write(piece).onComplete(written -> body.fetch(1), done::tryFail));
            body.fetch(1);
            return done.future();
          });
    }

    /** A piece, a pause of 1 ms, and so on. */
    private static Future<Response> slowly(Request request, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      long[] bytes = new long[1];
      ReadStream<Buffer> body = request.stream();
      body.exceptionHandler(answer::tryFail)
          .endHandler(end -> answer.complete(Response.text("" + bytes[0])))
          .handler(
              piece -> {
                bytes[0] += piece.length();
                context.after(Duration.ofMillis(1)).onSuccess(none -> body.fetch(1));
              });
      body.fetch(1);
      return answer.future();
    }

    /** Reads, and settles when the client leaves or never. */
    private static Future<Response> hang(Request request, boolean reacts) {
      Promise<Response> answer = Promise.promise();
      request.stream()
          .exceptionHandler(
              failure -> {
                if (reacts) {
                  answer.tryFail(failure);
                }
              })
          .handler(piece -> {})
          .resume();
      return answer.future();
    }
  }

  private static final class Blocking implements BlockingHandler {
    @Override
    public boolean streamsRequests() {
      return true;
    }

    @Override
    public Response handle(Request request, RequestContext context) throws Exception {
      if (request.queryParameter("echo") != null) {
        InputStream in = request.input();
        return Response.of(
            200,
            Headers.of("content-type", "application/octet-stream"),
            new Response.Body.Output(in::transferTo));
      }
      CRC32 sum = new CRC32();
      long bytes = 0;
      byte[] part = new byte[10_000];
      try (InputStream in = request.input()) {
        for (int size = in.read(part); size >= 0; size = in.read(part)) {
          bytes += size;
          sum.update(part, 0, size);
        }
      }
      return Response.text(bytes + " " + sum.getValue());
    }
  }
}
