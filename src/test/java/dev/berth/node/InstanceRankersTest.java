package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.code.BuildCache;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Built;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.fakes.FakeCandidates;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.RecordingBus;
import dev.berth.routing.DeploymentRouter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.RejectedExecutionException;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A deployment's ranker follows its settings, where the test lets hooks run. */
class InstanceRankersTest {
  private static final Epoch EPOCH = new Epoch(0, 1, "n1");
  private static final DeploymentId ID = new DeploymentId("a", "front");

  private final ManualClock clock = new ManualClock();
  private final QueueExecutor control = new QueueExecutor();
  private final Deque<Runnable> hooks = new ArrayDeque<>();
  private final List<ControllerEvent> told = new ArrayList<>();
  private boolean stopping;
  private String build = "";
  private final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(Runnable::run),
          control,
          (application, revision) -> source("{}"),
          told::add,
          gone -> {});
  private final DataPlane plane =
      new PlaneBuilder("n1", clock, new RecordingBus()).loop(control, () -> true).plane();
  private final InstanceRouters routers =
      new InstanceRouters(
          plane.routers,
          new InstanceRankers(
              (application, kind, task) -> {
                if (stopping) {
                  throw new RejectedExecutionException("the instance stops");
                }
                hooks.add(task);
                return () -> {};
              },
              control,
              builds,
              clock),
          Duration.ofMinutes(1).toNanos(),
          shown -> () -> {});

  /** Prefers the one that its argument names. */
  public static final class Preferring implements ReplicaRanker {
    static int made;
    private final int index;

    public Preferring(Map<String, @Nullable Object> arguments) {
      made++;
      index = ((Number) arguments.get("index")).intValue();
    }

    @Override
    public void rank(Candidates all, Asker asker, RandomGenerator random, Ranking ranking) {
      ranking.add(index);
    }

    @Override
    public String name() {
      return "preferring " + index;
    }
  }

  @BeforeEach
  void built() {
    Preferring.made = 0;
    builds.build(new Build(EPOCH, "a", 1));
    control.runAll();
    build = ((Built) told.get(0)).built().build();
  }

  private static BuildCache.BuildInputs source(String config) {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "applications: [{name: a, import_path: '%s:plain', deployments: [{name: front,"
                    .formatted(TestApplications.class.getName())
                + " request_router_config: "
                + config
                + "}]}]");
    return new BuildCache.BuildInputs(file.applications().get(0), file);
  }

  private String configure(String config) {
    Settings settings = source(config).config().deployment(Deployment.of("front", request -> null));
    routers.configure(new DeploymentTarget(ID, build, new DeploymentVersion("c", "l"), settings));
    control.runAll();
    return name();
  }

  private static String own(String arguments) {
    return "{request_router_class: 'dev.berth.node.InstanceRankersTest$Preferring',"
        + " request_router_kwargs: "
        + arguments
        + "}";
  }

  private String made() {
    hooks.remove().run();
    control.runAll();
    return name();
  }

  private DeploymentRouter router() {
    return routers.router(ID);
  }

  private String name() {
    return router().ranker.now().name();
  }

  private void discard() {
    builds.discard(new DiscardBuild(EPOCH, "a", build));
    control.runAll();
  }

  @ParameterizedTest
  @CsvSource({
    "power_of_two, power_of_two_choices",
    "least_requests, least_requests",
    "round_robin, round_robin",
    "consistent_hash, consistent_hash",
    "least_latency, least_latency",
    "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter, consistent_hash"
  })
  void aRankerOfBerthsIsThereAtOnce(String wanted, String name) {
    assertThat(configure("{}")).isEqualTo("power_of_two_choices");
    assertThat(configure("{request_router_class: '" + wanted + "'}")).isEqualTo(name);
    ReplicaRanker now = router().ranker.now();
    configure("{request_router_class: '" + wanted + "'}");
    assertThat(router().ranker.now()).as("nothing else is wanted").isSameAs(now);
    assertThat(configure("{}")).isEqualTo("power_of_two_choices");
  }

  @Test
  void oneOfTheUsersOwnRanksOnceItIsMadeAndItsCodeStaysAsLong() {
    configure("{request_router_class: round_robin}");
    assertThat(configure(own("{index: 3}"))).as("it is being made").isEqualTo("round_robin");
    assertThat(made()).isEqualTo("preferring 3");
    configure(own("{index: 3}"));
    assertThat(hooks).isEmpty();
    assertThat(Preferring.made).isOne();

    discard();
    assertThat(builds.names()).containsExactly("a/" + build);
    configure("{}");
    assertThat(builds.names()).isEmpty();
  }

  @Test
  void whatIsMadeAfterSomethingElseIsWantedIsNotUsed() {
    configure(own("{index: 3}"));
    configure(own("{index: 4}"));
    Runnable first = hooks.remove();
    assertThat(made()).isEqualTo("preferring 4");
    first.run();
    control.runAll();
    assertThat(name()).isEqualTo("preferring 4");
    routers.forget(ID);
    control.runAll();
    discard();
    assertThat(builds.names()).isEmpty();
  }

  @Test
  void oneThatCannotBeMadeLeavesPowerOfTwo() {
    configure("{request_router_class: round_robin}");
    try (LogLines log = new LogLines(InstanceRankers.class, Level.WARN)) {
      configure(own("{}"));
      assertThat(made()).isEqualTo("power_of_two_choices");
      stopping = true;
      assertThat(configure(own("{index: 1}"))).isEqualTo("power_of_two_choices");
      assertThat(log.all())
          .hasSize(2)
          .allSatisfy(
              line -> assertThat(line.getFormattedMessage()).contains("cannot be instantiated"));
    }
    discard();
    configure("{}");
    assertThat(builds.names()).isEmpty();
  }

  @Test
  void oneThatFailsIsLoggedOnceAndCountedEachTime() {
    try (LogLines log = new LogLines(InstanceRankers.class, Level.WARN)) {
      configure(own("{index: 9}"));
      made();
      FakeCandidates replicas = new FakeCandidates(2);
      ReplicaRanker over = replicas.rankedBy(router().ranker.now());
      for (int i = 0; i < 5; i++) {
        assertThat(replicas.first(over, new SplittableRandom(1))).isNotNegative();
      }
      assertThat(router().ranker.failures.sum()).isEqualTo(5);
      assertThat(log.all())
          .singleElement()
          .satisfies(line -> assertThat(line.getFormattedMessage()).contains("a", "Preferring"));
    }
  }
}
