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
 * Broadcast: asks every replica, waits a second for those that are busy, and tells who answered.
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
