package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchResult;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Batches of a line, each of which ends while the handler is called. */
class BatchDepthTest extends BatchingRig {
  private static final int REQUESTS = 6_000;

  @Test
  void batchesThatEndAtOnceDoNotNest() {
    int[] depths = {Integer.MAX_VALUE, 0};
    AsyncBatchHandler handler =
        items -> {
          int depth = Thread.currentThread().getStackTrace().length;
          depths[0] = Math.min(depths[0], depth);
          depths[1] = Math.max(depths[1], depth);
          batches.add(bodies(items));
          if (batches.size() > 1) {
            return Future.succeededFuture(echo(items));
          }
          Promise<List<BatchResult>> promise = Promise.promise();
          open.add(promise);
          return promise.future().map(none -> echo(items));
        };
    start(rules(2, 10, 1), REQUESTS, handler);
    List<String> bodies = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      send("" + i);
    }
    pass(10);
    finishOldest();

    assertThat(outcomes()).hasSize(REQUESTS);
    assertThat(depths[1] - depths[0]).isLessThan(60);
  }
}
