package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SharedReadsTest {

  /** Reads at once what it is given to read. */
  private static final Vertx QUICK =
      (Vertx)
          Proxy.newProxyInstance(
              Vertx.class.getClassLoader(),
              new Class<?>[] {Vertx.class},
              (self, method, given) -> Future.succeededFuture(((Callable<?>) given[0]).call()));

  @Test
  void aReadThatEndsAtOnceIsNotTheLastOne() throws Exception {
    Vertx vertx = Vertx.vertx();
    CompletableFuture<List<Integer>> read = new CompletableFuture<>();
    AtomicInteger value = new AtomicInteger();
    SingleFlightReads<Integer> reads = new SingleFlightReads<>();
    vertx.runOnContext(
        now ->
            read.complete(
                List.of(
                    reads.read(QUICK, "it", value::incrementAndGet).result(),
                    reads.read(QUICK, "it", value::incrementAndGet).result())));
    assertThat(read.get(10, TimeUnit.SECONDS)).containsExactly(1, 2);
    vertx.close();
  }
}
