package dev.berth.simulation;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;

/** The code of every application of a {@link ClusterSimulation}, found by its import path. */
public final class ClusterUserCode {
  /** The simulations that run, by the name that their applications are given. */
  static final Map<String, ClusterSimulation> RUNS = new ConcurrentHashMap<>();

  private ClusterUserCode() {}

  /** The builder. */
  public static Application build(Map<String, Object> args) {
    ClusterSimulation run = RUNS.get(String.valueOf(args.get("run")));
    return Application.of(
        Deployment.of(
            "model",
            replica -> {
              run.watch.made(replica.replicaId());
              return new Handler(run, replica.replicaId());
            }));
  }

  /** One replica. */
  private static final class Handler implements AsyncHandler {
    private final ClusterSimulation on;
    private final String replicaId;
    private final SplittableRandom random;

    Handler(ClusterSimulation on, String replicaId) {
      this.on = on;
      this.replicaId = replicaId;
      this.random = on.world.randomness();
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Executions.Execution execution = on.executions.begin(context, replicaId);
      String body = ((Request.Body.Whole) request.body()).bytes().toString();
      String own = "body of " + context.requestId();
      on.world.failIf(!body.startsWith(own), () -> own + ": another one's: " + body);
      int temper = random.nextInt(100);
      if (temper < 10) {
        on.executions.settle(execution);
        return Future.succeededFuture(answer(context));
      }
      int longest = on.rough ? 6_000 : 4_500; // else below the grace of a replica that is replaced
      int mostMillis = temper < 70 ? 20 : temper < 95 ? 1_500 : longest;
      return context
          .after(Duration.ofNanos(1_000L * random.nextInt(1_000 * mostMillis)))
          .onComplete((none, cancelled) -> on.executions.settle(execution))
          .compose(
              none ->
                  temper == 99
                      ? Future.failedFuture(new IllegalStateException("as drawn"))
                      : Future.succeededFuture(answer(context)));
    }

    private static Response answer(RequestContext context) {
      return Response.text(context.requestId() + "#end");
    }
  }
}
