package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What user code gets for calls outside of any request, in an instance in this JVM. */
public class WorkOfNoRequestTest {
  private static final Queue<Context> HEADS = new ConcurrentLinkedQueue<>();
  private static final Queue<Context> PIECES = new ConcurrentLinkedQueue<>();

  private TestNode node;

  @BeforeEach
  void start() throws Exception {
    HEADS.clear();
    PIECES.clear();
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications: [{name: a, route_prefix: /, import_path:
              'dev.berth.node.WorkOfNoRequestTest:streams'}]
            berth: {event_loops: 1, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5}
            """);
  }

  @AfterEach
  void stop() {
    node.close();
  }

  /** Reads a stream by the handle of its replica, and notes the contexts of what comes. */
  public static Application streams(Map<String, Object> args) {
    Deployment back =
        Deployment.async(
            "back",
            (request, context) ->
                Future.succeededFuture(
                    Response.stream(
                        "text/plain",
                        writer ->
                            context
                                .after(Duration.ofMillis(5))
                                .compose(none -> writer.write("piece")))));
    Deployment front =
        Deployment.of(
            "front",
            replica -> {
              DeploymentHandle own = replica.handle("back");
              return (AsyncHandler)
                  (request, context) -> {
                    Promise<Response> answer = Promise.promise();
                    own.stream(Request.get("/"))
                        .onFailure(answer::fail)
                        .onSuccess(
                            streamed -> {
                              HEADS.add(Vertx.currentContext());
                              streamed
                                  .body()
                                  .exceptionHandler(answer::fail)
                                  .endHandler(end -> answer.complete(Response.text("read")))
                                  .handler(piece -> PIECES.add(Vertx.currentContext()))
                                  .resume();
                            });
                    return answer.future();
                  };
            });
    return Application.of(front, back);
  }

  @Test
  void eachCallHasAContextOfItsOwn() {
    assertThat(node.get("/").body()).isEqualTo("read");
    assertThat(node.get("/").body()).isEqualTo("read");

    for (Queue<Context> seen : List.of(PIECES, HEADS)) {
      assertThat(seen).as("%s", seen).hasSize(2).doesNotHaveDuplicates();
      assertThat(seen).allMatch(each -> ((ContextInternal) each).isDuplicate());
    }
  }
}
