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
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Code is read on other threads, of which a later one may be done first. */
class BuildsTest {
  private static final Epoch EPOCH = new Epoch(0, 1, "n1");
  private static final Path JAR = Path.of("a.jar");

  private final Deque<Runnable> reading = new ArrayDeque<>();
  private final QueueExecutor control = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private String builder = "plain";
  private double capacity = 100;
  private final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(reading::add),
          control,
          (application, revision) -> source(application),
          told::add,
          gone -> {});

  private BuildCache.BuildInputs source(String name) {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "target_capacity: "
                + capacity
                + "\napplications: [{name: "
                + name
                + ", import_path: '"
                + TestApplications.class.getName()
                + ":"
                + builder
                + "', deployments: [{name: front, num_replicas: 4}]}]");
    return new BuildCache.BuildInputs(file.applications().get(0), file);
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
  @ParameterizedTest
  @CsvSource({"plain, plain, true", "plain, plain, false", "failing, plain, false"})
  void ofTwoBuildsOfARevisionTheLaterSpeaksWhicheverIsDoneFirst(
      String earlier, String later, boolean inOrder) {
    builder = earlier;
    build();
    builder = later;
    capacity = 25;
    build();
    done(inOrder ? reading.removeFirst() : reading.removeLast());
    assertThat(told).hasSize(inOrder ? 0 : 1);
    done(reading.remove());
    assertThat(replicas()).isEqualTo(1);
    assertThat(builds.names()).hasSize(1);
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

  /** Its jars may be loaded from until it was asked for and answered. */
  private Promise<BuildCache.LoadedRevision> early(String name) {
    Promise<BuildCache.LoadedRevision> read = Promise.promise();
    builds.readEarly(
        new BuildCache.PendingLoad(source(name).config().withJars(List.of(JAR)), read.future()));
    assertThat(builds.jarsInUse()).containsExactly(JAR);
    return read;
  }

  @Test
  void whatWasReadEarlyGoesWhenItsSettingsAreNotThoseOfNow() {
    Promise<BuildCache.LoadedRevision> early = early("a");
    build();
    BuildCache.BuildInputs before = source("a");
    capacity = 25;
    build();
    assertThat(builds.jarsInUse()).as("while it answers").containsExactly(JAR);
    early.complete(ApplicationLoader.read(before, Map.of(), BuiltInHandlers.NONE));
    control.runAll();
    assertThat(told).isEmpty();
    assertThat(builds.jarsInUse()).isEmpty();
    done(reading.removeFirst());
    assertThat(replicas()).isEqualTo(1);
  }

  @Test
  void whatWasReadEarlyAnswersTheFirstBuildAndNoOther() {
    early("a").complete(ApplicationLoader.read(source("a"), Map.of(), BuiltInHandlers.NONE));
    build();
    control.runAll();
    assertThat(replicas()).isEqualTo(4);
    assertThat(builds.names()).hasSize(1);
    build();
    assertThat(reading).as("read anew").hasSize(1);
  }

  /** Seed 280823012 of the simulation of lifecycles. */
  @Test
  void buildThatTheControllerKnowsStaysWithoutUsers() {
    build();
    done(reading.removeFirst());
    String build = ((Built) told.remove(0)).built().build();

    builds.closeEarly(); // another controller begins
    assertThat(builds.names()).as("until its recovery has ended").hasSize(1);
    builds.keepOnly(Map.of("a", Set.of(build)));
    assertThat(builds.names()).as("a worker runs it").hasSize(1);
    builds.keepOnly(Map.of("b", Set.of(build)));
    assertThat(builds.names()).as("of another application").isEmpty();
  }

  @Test
  void whatWasReadEarlyAndIsNotDeclaredAnyMoreGoesWhenTheControllerHasBegun() {
    early("gone").complete(ApplicationLoader.read(source("gone"), Map.of(), BuiltInHandlers.NONE));
    early("slow");

    builds.closeEarly();
    assertThat(builds.jarsInUse()).isEmpty();
    builds.build(new Build(EPOCH, "gone", 2)); // deployed again
    assertThat(reading).as("read anew").hasSize(1);
  }
}
