package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.fakes.FakeHandle;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.port.TickTimer;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@Timeout(20)
@ExtendWith(VertxExtension.class)
class MetricsPusherVerticleTest {
  private static final ReportIntervals RHYTHM =
      new ReportIntervals(Duration.ofMillis(10), Duration.ofMillis(20));

  private static final long TERM = 1;

  private final MetricsPusher pusher =
      new MetricsPusher("node-1", 1, RHYTHM, RHYTHM, 1 << 16, System::nanoTime);
  private final BlockingQueue<HandleMetricBatch> pushed = new LinkedBlockingQueue<>();

  @Test
  void pushesWhatIsRegistered(Vertx vertx) throws Exception {
    pusher.register(new FakeHandle("d").with(2, 0, 0));
    deploy(vertx, batch -> Future.succeededFuture(TERM));
    assertThat(next().handles().get(0).queued()).isEqualTo(2);
    assertThat(next().sequence()).isEqualTo(2);
  }

  @Test
  void aSinkThatFailsOrThrowsDoesNotStopThePushes(Vertx vertx) throws Exception {
    try (LogLines said = new LogLines(MetricsPusherVerticle.class, Level.WARN)) {
      deploy(
          vertx,
          batch -> {
            if (batch.sequence() == 2) {
              throw new IllegalStateException("no controller, for the test");
            }
            return batch.sequence() == 1
                ? Future.failedFuture("no controller, for the test")
                : Future.succeededFuture(TERM);
          });
      for (int sequence = 1; sequence <= 3; sequence++) {
        assertThat(next().sequence()).isEqualTo(sequence);
      }
      assertThat(said.all())
          .singleElement()
          .asString()
          .endsWith("metrics: controller does not acknowledge them: no controller, for the test");
    }
    assertThat(pusher.failedCount()).isEqualTo(2);
  }

  @Test
  void stoppingTellsOnceMoreWhatIsLeftToTell(Vertx vertx) throws Exception {
    MeterRegistration registration = pusher.register(new FakeHandle("d").with(1, 0, 0));
    String id = deploy(vertx, batch -> Future.succeededFuture(TERM));
    next();
    pushed.clear();
    registration.close();
    vertx.undeploy(id).await();
    assertThat(pushed)
        .as("batches since the source left")
        .anyMatch(batch -> batch.handles().stream().anyMatch(HandleMetricReport::isZero));
  }

  @Test
  void aSinkThatNeverAnswersDelaysTheEndByASecondAtMost(Vertx vertx) throws Exception {
    String id = deploy(vertx, batch -> Promise.<Long>promise().future());
    vertx.undeploy(id).await();
    assertThat(next()).isNotNull();
  }

  private String deploy(Vertx vertx, Function<HandleMetricBatch, Future<Long>> sink) {
    MetricsPusherVerticle verticle =
        new MetricsPusherVerticle(
            new TickTimer(PlaneBuilder.timer(vertx), System::nanoTime),
            pusher,
            batch -> {
              pushed.add(batch);
              return sink.apply(batch);
            });
    return vertx.deployVerticle(verticle).await();
  }

  private HandleMetricBatch next() throws InterruptedException {
    HandleMetricBatch batch = pushed.poll(10, TimeUnit.SECONDS);
    if (batch == null) {
      throw new AssertionError("no batch within 10 s");
    }
    return batch;
  }
}
