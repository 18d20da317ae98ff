package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MetricsPusherVerticleTest {
  private static final Duration RECORD = Duration.ofMillis(10);
  private static final Duration PUSH = Duration.ofMillis(20);

  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final MetricsPusher pusher =
      new MetricsPusher(
          "node-1", 1, new MetricsPusher.Settings(RECORD, PUSH, 1 << 16), System::nanoTime);
  private final BlockingQueue<HandleMetricBatch> pushed = new LinkedBlockingQueue<>();

  @AfterEach
  void close() throws Exception {
    await(vertx.close());
  }

  @Test
  void pushesWhatIsRegistered() throws Exception {
    pusher.register(new FakeHandle("d").with(2, 0, 0));
    deploy(batch -> Future.succeededFuture());
    assertThat(next().handles().get(0).queued()).isEqualTo(2);
    assertThat(next().sequence()).isEqualTo(2);
  }

  @Test
  void aSinkThatFailsOrThrowsDoesNotStopThePushes() throws Exception {
    deploy(
        batch -> {
          if (batch.sequence() == 1) {
            throw new IllegalStateException("no controller, for the test");
          }
          return batch.sequence() == 2
              ? Future.failedFuture("no controller, for the test")
              : Future.succeededFuture();
        });
    for (int sequence = 1; sequence <= 3; sequence++) {
      assertThat(next().sequence()).isEqualTo(sequence);
    }
    assertThat(pusher.failed()).isEqualTo(2);
  }

  @Test
  void stoppingTellsOnceMoreWhatIsLeftToTell() throws Exception {
    Registration registration = pusher.register(new FakeHandle("d").with(1, 0, 0));
    String id = deploy(batch -> Future.succeededFuture());
    next();
    pushed.clear();
    registration.close();
    await(vertx.undeploy(id));
    assertThat(pushed)
        .as("batches since the source left")
        .anyMatch(batch -> batch.handles().stream().anyMatch(HandleMetricReport::isZero));
  }

  @Test
  void aSinkThatNeverAnswersDelaysTheEndByASecondAtMost() throws Exception {
    String id = deploy(batch -> Promise.<Void>promise().future());
    await(vertx.undeploy(id));
    assertThat(next()).isNotNull();
  }

  private String deploy(MetricSink sink) throws Exception {
    return await(
        vertx.deployVerticle(
            new MetricsPusherVerticle(
                pusher,
                batch -> {
                  pushed.add(batch);
                  return sink.push(batch);
                },
                RECORD)));
  }

  private HandleMetricBatch next() throws InterruptedException {
    HandleMetricBatch batch = pushed.poll(10, TimeUnit.SECONDS);
    if (batch == null) {
      throw new AssertionError("no batch within 10 s");
    }
    return batch;
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
