package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.stream.Collectors;

/**
 * A broadcast to every replica, with a timeout of one second for busy ones; the response lists the
 * result of each.
 */
final class RollCallHandler implements AsyncHandler {
  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return context
        .handle("named")
        .withTimeout(Duration.ofSeconds(1))
        .broadcast(Request.get("/"))
        .map(
            answers ->
                Response.text(
                    answers.stream()
                        .map(RollCallHandler::line)
                        .sorted()
                        .collect(Collectors.joining("\n", "", "\n"))));
  }

  private static String line(BroadcastAnswer answer) {
    if (answer instanceof BroadcastAnswer.Failed failed) {
      return failed.replicaId() + ": " + failed.failure().kind();
    }
    return answer.replicaId() + ": here";
  }
}
