package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.fakes.Rollouts;
import dev.berth.simulation.LifecycleCode.Part;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Cases of the lifecycle's simulation that seeds found, without the seed's luck. */
@Tag("simulation")
class LifecycleScriptTest {
  /** Several instances on a network that loses nothing. */
  private static final long SEED = 4;

  private static final DeploymentId IN = new DeploymentId("a", "in");
  private static final Logger LOG = (Logger) LoggerFactory.getLogger("dev.berth");

  @TempDir static Path folder;

  @BeforeAll
  static void silence() {
    LOG.setLevel(Level.OFF);
  }

  @AfterAll
  static void speakAgain() {
    LOG.setLevel(null);
  }

  private static LifecycleCode application(String build, String code, String live, int replicas) {
    Part part = new Part("in", code, live, replicas, Rollouts.of(1, 20, 3), 10, 10);
    return new LifecycleCode("a", "/a", build, List.of(part));
  }

  private static void at(LifecycleSimulation on, long millis, Runnable task) {
    on.world.after(TimeUnit.MILLISECONDS.toNanos(millis), "script", task);
  }

  /** 90501190: the application was deleted and declared again while its replicas were stopped. */
  @Test
  void replicasOfADeletedApplicationDoNotCountAsServing() {
    LifecycleCode refused = application("b2", "c1", "l2!", 3);
    LifecycleSimulation.run(
        SEED,
        folder,
        on -> {
          on.commands.declare(application("b1", "c1", "l1", 3));
          at(on, 100_000, () -> on.commands.declare(refused));
          at(
              on,
              599_999,
              () -> {
                assertThat(on.routed(IN).replicas()).as("serve on").hasSize(3);
                long until = on.world.elapsedNanos() + TimeUnit.SECONDS.toNanos(5);
                on.links.values().forEach(link -> link.blockedUntilNanos = until);
                on.commands.withdraw("a");
                on.commands.declare(refused);
              });
        });
  }

  /**
   * 91300226, and 91001630 where the application was deleted: a worker that alone ran a build was
   * lost before its inventory reached the next controller, which so never heard of that build.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void codeOfALostWorkerIsNotHeldByTheControlNode(boolean deleted) {
    LifecycleSimulation.run(
        SEED,
        folder,
        on -> {
          for (String node : List.of("n1", "n3")) {
            on.onControl(() -> on.nodes.cordon(node, true));
          }
          at(on, 10, () -> on.commands.declare(application("b1", "c1", "l1", 1)));
          at(on, 60_000, () -> on.commands.declare(application("b2", "c1", "l1", 1)));
          at(on, 120_000, () -> losesControllerAndWorker(on));
          at(on, 200_000, on.nodes::end);
          if (deleted) {
            at(on, 300_000, () -> on.commands.withdraw("a"));
          }
        });
  }

  /** 280823012: of the next controller the control node kept what it ran itself, and no more. */
  @Test
  void codeThatAWorkerAloneRunsIsHeldForTheNextStart() {
    Settings atMostOne = Rollouts.of(1, 20, 3).with(DeploymentConfig.MAX_REPLICAS_PER_NODE, 1);
    List<Part> two = List.of(new Part("in", "c1", "l1", 2, atMostOne, 10, 10));
    LifecycleCode incomplete = new LifecycleCode("a", "/a", "b1", two);
    LifecycleSimulation.run(
        SEED,
        folder,
        on -> {
          for (String node : List.of("n1", "n3")) {
            on.onControl(() -> on.nodes.cordon(node, true));
          }
          at(on, 10, () -> on.commands.declare(incomplete));
          at(on, 60_000, () -> on.commands.declare(incomplete.with("b2!", two)));
          at(on, 120_000, on::controllerDies);
          at(on, 200_000, on.nodes::end);
          at(on, 250_000, () -> on.nodes.loses("n2", true));
          at(
              on,
              400_000,
              () -> {
                assertThat(on.routed(IN).replicas()).as("on another node").hasSize(1);
                on.commands.declare(application("b3", "c1", "l1", 1));
              });
        });
  }

  /** 296000824: a start of an earlier controller fails on a lost node, whose code was discarded. */
  @Test
  void startOnALostNodeMayFailLateUnderTheNextController() {
    LifecycleSimulation.run(
        SEED,
        folder,
        on -> {
          for (String node : List.of("n1", "n3")) {
            on.onControl(() -> on.nodes.cordon(node, true));
          }
          at(on, 10, () -> on.commands.declare(application("b1", "c1", "l1", 1)));
          at(on, 59_000, () -> on.codeMillis = 9_800);
          at(on, 60_000, () -> on.commands.declare(application("b2", "c2", "l1", 1)));
          at(on, 62_000, () -> on.nodes.loses("n2", false));
          at(on, 62_010, on::controllerDies);
          at(on, 70_000, () -> on.commands.withdraw("a"));
          at(on, 200_000, on.nodes::end);
          at(on, 150_000, () -> assertThat(on.watch.excused).as("failed late").isEqualTo(1));
        });
  }

  private static void losesControllerAndWorker(LifecycleSimulation on) {
    assertThat(on.instance("n2").builds()).as("the worker's code").hasSize(1);
    assertThat(on.instance("n1").builds()).as("the control node's code").hasSize(2);
    on.controllerDies();
    on.world.when(() -> on.controller != null, () -> on.nodes.loses("n2", true));
  }
}
