package dev.berth.simulation;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.simulation.Executions.Execution;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** User code that takes batches: quick, slow, failing, with too few results, or each its own. */
final class SimulatedBatchHandler implements AsyncBatchHandler {
  private final Simulation on;
  private final String replicaId;
  private final SimulatedLoop loop;
  private final SimulatedHandler alone;
  private final SplittableRandom random;

  SimulatedBatchHandler(Simulation on, String replicaId, SimulatedLoop loop) {
    this.on = on;
    this.replicaId = replicaId;
    this.loop = loop;
    this.alone = new SimulatedHandler(on, replicaId, loop);
    this.random = on.world.randomness();
  }

  @Override
  public int itemSize(Request request) {
    String requestId = request.path().substring(1);
    on.batches.joined(requestId, replicaId);
    return SimulatedBatches.itemsOf(requestId);
  }

  @Override
  public Future<List<BatchResult>> handle(List<BatchItem> items) {
    on.batches.start(replicaId, items);
    List<Execution> runs =
        items.stream().map(each -> on.executions.begin(each.context(), replicaId)).toList();
    return results(items, runs)
        .onComplete(
            (results, failure) -> {
              on.batches.end(replicaId);
              runs.forEach(on.executions::settle);
            });
  }

  private Future<List<BatchResult>> results(List<BatchItem> items, List<Execution> runs) {
    int temper = random.nextInt(24);
    if (temper < 5) {
      return each(items, runs);
    }
    long most = temper == 5 ? 300_000 : 8_000;
    return after(most).compose(none -> whole(runs, temper));
  }

  private Future<List<BatchResult>> whole(List<Execution> runs, int temper) {
    if (temper == 6) {
      return Future.failedFuture(new IllegalStateException("as drawn"));
    }
    List<BatchResult> results = new ArrayList<>();
    runs.forEach(run -> results.add(BatchResult.of(SimulatedHandler.whole(run, 0))));
    return Future.succeededFuture(temper == 7 ? results.subList(1, results.size()) : results);
  }

  private Future<Void> after(long mostMicros) {
    Promise<Void> done = Promise.promise();
    loop.start(1_000 * random.nextLong(mostMicros), done::complete);
    return done.future();
  }

  /** Each request is answered as it would be alone; the batch lasts as long as the slowest. */
  private Future<List<BatchResult>> each(List<BatchItem> items, List<Execution> runs) {
    List<Future<Response>> answers = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      answers.add(answer(items.get(i), runs.get(i)));
    }
    return Future.join(answers)
        .transform(
            joined ->
                Future.succeededFuture(
                    answers.stream()
                        .map(
                            each ->
                                each.succeeded()
                                    ? BatchResult.of(each.result())
                                    : BatchResult.ofFailure(each.cause()))
                        .toList()));
  }

  private Future<Response> answer(BatchItem item, Execution run) {
    try {
      return alone.readWhole(item.request(), run, item.context());
    } catch (IllegalStateException thrown) {
      return Future.failedFuture(thrown);
    }
  }
}
