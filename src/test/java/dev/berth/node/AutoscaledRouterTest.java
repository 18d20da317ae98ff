package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.Rankers;
import dev.berth.fakes.RecordingBus;
import dev.berth.metrics.MetricsPusher;
import dev.berth.node.loops.Identity;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** Configuring a deployment that runs is what registers its handle, and what takes it away. */
class AutoscaledRouterTest {
  private static final DeploymentId ID = new DeploymentId("app", "d");
  private static final Settings FIXED = DeploymentConfig.of("d");
  private static final Settings AUTO =
      DeploymentConfig.of("d").with(DeploymentConfig.NUM_REPLICAS, -1);

  private final ManualClock clock = new ManualClock();
  private final DataPlane plane =
      new PlaneBuilder("n1", clock, new RecordingBus())
          .loop(new QueueExecutor(), () -> true)
          .plane();
  private final MetricsPusher pusher =
      InstanceSeries.pusher(
          ConfigReader.read("test", Path.of(""), "{}"),
          new Identity("n1", 1, clock, () -> Instant.EPOCH, new SecureRandom()));
  private final InstanceRouters routers =
      new InstanceRouters(
          plane.routers, Rankers.of(plane), Duration.ofMinutes(1).toNanos(), pusher::register);

  private HandleMetricBatch configured(Settings settings) {
    routers.configure(new DeploymentTarget(ID, "b", new DeploymentVersion("c", "l"), settings));
    clock.advance(Duration.ofSeconds(5)); // then a batch without reports is due, too
    HandleMetricBatch batch = pusher.tick();
    assertThat(batch).isNotNull();
    pusher.onSettled(batch.sequence(), 1);
    return batch;
  }

  @Test
  void aChangeOfTheConfigRegistersALiveHandleAndTakesItAway() {
    assertThat(configured(FIXED).handles()).isEmpty();
    assertThat(configured(AUTO).handles()).hasSize(1).noneMatch(each -> each.last());
    assertThat(configured(FIXED).handles()).hasSize(1).allMatch(each -> each.last());
    assertThat(configured(FIXED).handles()).isEmpty();
    assertThat(configured(AUTO).handles()).hasSize(1);
    routers.forget(ID);
    clock.advance(Duration.ofSeconds(1));
    HandleMetricBatch batch = pusher.tick();
    assertThat(batch).isNotNull();
    assertThat(batch.handles()).hasSize(1).allMatch(each -> each.last());
  }
}
