package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.BuildFailed;
import dev.berth.controller.ControllerEvent.Built;
import dev.berth.controller.Epoch;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.node.TestApplications;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Code is read on other threads, of which a later one may be done first. */
class BuildsTest {
  private static final Epoch EPOCH = new Epoch(1, "n1");

  private final Deque<Runnable> reading = new ArrayDeque<>();
  private final QueueExecutor control = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private String builder = "plain";
  private double capacity = 100;
  private final Builds builds =
      new Builds(
          PlaneBuilder.hooks(reading::add),
          control,
          (application, revision) -> source(),
          told::add,
          gone -> {});

  private Builds.Source source() {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "target_capacity: "
                + capacity
                + "\napplications: [{name: a, import_path: '"
                + TestApplications.class.getName()
                + ":"
                + builder
                + "', deployments: [{name: front, num_replicas: 4}]}]");
    return new Builds.Source(file.applications().get(0), file);
  }

  private void build() {
    builds.build(new Build(EPOCH, "a", 1));
  }

  private void done(Runnable read) {
    read.run();
    control.runAll();
  }

  private int replicas() {
    assertThat(told).hasSize(1).first().isInstanceOf(Built.class);
    return ((Built) told.get(0))
        .built()
        .targets()
        .get(0)
        .settings()
        .get(DeploymentConfig.NUM_REPLICAS);
  }

  /** Seed 5001654 of the simulation of lifecycles. */
  @Test
  void anEarlierBuildOfTheSameRevisionThatIsDoneLaterSaysNothing() {
    build();
    capacity = 25;
    build();
    done(reading.removeLast());
    done(reading.removeLast());
    assertThat(replicas()).isEqualTo(1);
    assertThat(builds.names()).hasSize(1);
  }

  @Test
  void anEarlierBuildOfTheSameRevisionThatIsDoneFirstSaysNothing() {
    build();
    capacity = 25;
    build();
    done(reading.removeFirst());
    assertThat(told).isEmpty();
    done(reading.removeFirst());
    assertThat(replicas()).isEqualTo(1);
  }

  @Test
  void anEarlierBuildThatFailsLaterSaysNothing() {
    builder = "failing";
    build();
    builder = "plain";
    build();
    done(reading.removeLast());
    done(reading.removeLast());
    assertThat(replicas()).isEqualTo(4);
  }

  @Test
  void theLastBuildThatFailsSaysSoThoughAnEarlierOneDoesNot() {
    build();
    builder = "failing";
    build();
    done(reading.removeLast());
    done(reading.removeLast());
    assertThat(told).hasSize(1).first().isInstanceOf(BuildFailed.class);
    assertThat(builds.names()).isEmpty();
  }

  @Test
  void whatWasReadEarlyGoesWhenItsSettingsAreNotThoseOfNow() {
    Promise<LoadedApplication> early = Promise.promise();
    builds.readEarly("a", early.future());
    build();
    Builds.Source before = source();
    capacity = 25;
    build();
    early.complete(
        ApplicationLoader.read(new Builds.Source(before.config(), before.file()), Map.of()).code());
    control.runAll();
    assertThat(told).isEmpty();
    done(reading.removeFirst());
    assertThat(replicas()).isEqualTo(1);
  }

  @Test
  void whatWasReadEarlyAndIsNotDeclaredAnyMoreGoesWhenTheControllerHasBegun() {
    Promise<LoadedApplication> early = Promise.promise();
    builds.readEarly("gone", early.future());
    Builds.Source before = source();
    early.complete(
        ApplicationLoader.read(new Builds.Source(before.config(), before.file()), Map.of()).code());
    builds.readEarly("slow", Promise.<LoadedApplication>promise().future());
    assertThat(builds.jarsInUse()).as("while it may be asked for").isNull();

    builds.keepOnly(new ControllerEvent.Inventory("n1", List.of(), List.of()));
    assertThat(builds.jarsInUse()).isEmpty();
    builds.build(new Build(EPOCH, "gone", 2)); // deployed again
    assertThat(reading).as("read anew").hasSize(1);
  }
}
