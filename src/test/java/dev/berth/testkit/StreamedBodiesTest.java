package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.StreamedHandler;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Bodies of requests that a test sends piece by piece. */
class StreamedBodiesTest {
  @AutoClose private TestBerth berth;
  private static final int PIECE = 32 << 10; // bytes

  private final TestBody body = new TestBody();
  private final List<String> read = new ArrayList<>();
  private final List<ReadStream<Buffer>> streams = new ArrayList<>();

  /** Reads its body as it comes; answers at its end. */
  private final class Reader implements StreamedHandler {
    private final boolean reads;

    Reader(boolean reads) {
      this.reads = reads;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      ReadStream<Buffer> stream = request.stream();
      streams.add(stream);
      context.onCancel(() -> answer.tryFail("cancelled"));
      stream
          .exceptionHandler(answer::tryFail)
          .endHandler(end -> answer.tryComplete(Response.text(String.join("|", read))))
          .handler(piece -> read.add(piece.toString()));
      if (reads) {
        stream.resume();
      }
      return answer.future();
    }
  }

  private Application application(boolean reads) {
    return Apps.made(replica -> new Reader(reads));
  }

  private Future<Response> post(Application application) {
    berth = TestBerth.start(application);
    return berth.handle("one").call(body.post("/"));
  }

  @Test
  void aBodyIsReadAsTheTestSendsIt() {
    Future<Response> answer = post(application(true));
    body.write("a");
    berth.run();
    assertThat(read).containsExactly("a");
    body.write("b");
    berth.run();
    assertThat(read).containsExactly("a", "b");
    body.end();
    assertThat(berth.text(berth.await(answer))).isEqualTo("a|b");
    assertThatThrownBy(() -> body.write("c")).hasMessage("body: ended (expected: open)");
  }

  @Test
  void aHandlerThatDoesNotReadHoldsItsSenderBack() {
    Future<Response> answer = post(application(false));
    for (int i = 0; i < 64; i++) {
      body.write(Buffer.buffer(new byte[PIECE]));
    }
    berth.run();
    assertThat(body.waiting()).isBetween(PIECE, 64 * PIECE - 1);
    streams.get(0).resume();
    body.end();
    assertThat(berth.bytes(berth.await(answer)).length()).isGreaterThan(64 * PIECE);
    assertThat(body.waiting()).isZero();
  }

  @Test
  void aClientThatLeavesCancelsItsRequest() {
    Future<Response> answer = post(application(true));
    body.write("a");
    berth.run();
    body.fail(new BerthException.Cancelled("the client left"));
    assertThat(berth.awaitFailure(answer)).isInstanceOf(BerthException.Cancelled.class);
    berth.assertAtRest();
  }

  @Test
  void aBlockingHandlerReadsFromAnInput() {
    Application application =
        Apps.made(
            replica ->
                new BlockingHandler() {
                  @Override
                  public boolean streamsRequests() {
                    return true;
                  }

                  @Override
                  public Response handle(Request request, RequestContext context) throws Exception {
                    return Response.text(new String(request.input().readAllBytes()));
                  }
                });
    Future<Response> answer = post(application);
    body.write("a").write("b");
    berth.run();
    body.end();
    assertThat(berth.text(berth.await(answer))).isEqualTo("ab");
  }

  @Test
  void aHandlerThatTakesItsBodyWholeGetsItWhole() {
    Future<Response> answer =
        post(Apps.of((request, context) -> Apps.text(request.bytes().toString())));
    body.write("a").write("b").end();
    assertThat(berth.text(berth.await(answer))).isEqualTo("ab");
  }

  @Test
  void aBodyOfAnySizeTravelsWhole() {
    byte[] bytes = new byte[1 << 20];
    new java.util.Random(7).nextBytes(bytes);
    berth =
        TestBerth.start(
            Apps.of(
                (request, context) ->
                    Future.succeededFuture(
                        Response.of(200, "application/octet-stream", request.bytes()))));
    Response answer = berth.call(Request.post("/", Buffer.buffer(bytes)));
    assertThat(berth.bytes(answer).getBytes()).isEqualTo(bytes);
  }
}
