package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.fakes.Rollouts;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each rule of Ray Serve's deployment state, and whether Berth's is another. */
class ReconcilerRulesTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");

  /**
   * @param differs what Ray does instead; empty when it is the same
   */
  record Row(String rule, String differs, Consumer<Model> holds) {
    @Override
    public String toString() {
      return rule + (differs.isEmpty() ? "" : " (Ray: " + differs + ")");
    }
  }

  /** An application of one deployment. */
  private static final class Model {
    final DrivenController it = new DrivenController();
    Settings rollout = Rollouts.DEFAULTS;
    Map<String, Object> userConfig = Map.of();
    int queue = 100;
    int grace = 20;

    /** Deploys code "v1", … with the settings of the moment. */
    Model deploy(String code, int replicas) {
      return deploy(code, "", replicas);
    }

    Model deploy(String code, String live, int replicas) {
      Settings settings =
          DrivenController.with(
              DrivenController.settings("model", replicas, rollout),
              userConfig,
              queue,
              rollout,
              grace);
      it.declare("app", DrivenController.target(MODEL, code, live, settings));
      return this;
    }

    Model healthy(String code, int replicas) {
      deploy(code, replicas);
      it.finish();
      return is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
    }

    Model surge(double percent) {
      rollout = DrivenController.surge(percent);
      return this;
    }

    Model is(String status, String trigger) {
      assertThat(it.state(MODEL)).isEqualTo(status + " " + trigger);
      return this;
    }

    Model fleet(String expected) {
      assertThat(it.fleet()).isEqualTo(expected);
      return this;
    }

    Model scale(int replicas) {
      it.send(new ControllerEvent.Scaled(MODEL, replicas));
      return this;
    }

    /** Every start of the code fails, until nothing is started any more or so many have. */
    int failStarts(String code, int most) {
      int failures = 0;
      for (int round = 0; round < 100 && failures < most; round++) {
        for (DrivenController.Hosted each : List.copyOf(it.hosted.values())) {
          if (!each.runs
              && !each.stopping
              && each.target.version().code().equals(code)
              && failures < most) {
            it.fail(each.id, "no model");
            failures++;
          }
        }
        it.advance(Duration.ofSeconds(64));
      }
      return failures;
    }

    List<String> routable() {
      return it.routable(MODEL);
    }

    /** Requests may go to these, in order. */
    Model routesTo(String... replicas) {
      assertThat(routable()).containsExactly(replicas);
      return this;
    }

    Model run(String... replicas) {
      it.run(replicas);
      return this;
    }

    Model die(String replica) {
      it.die(replica);
      return this;
    }

    /** Starts run, stops end, configurations are taken, until nothing is asked for. */
    Model finish() {
      it.finish();
      return this;
    }

    Model pass(long seconds) {
      it.advance(Duration.ofSeconds(seconds));
      return this;
    }
  }

  private static Row row(String rule, Consumer<Model> holds) {
    return new Row(rule, "", holds);
  }

  private static Row row(String rule, String ray, Consumer<Model> holds) {
    return new Row(rule, ray, holds);
  }

  static Stream<Row> startUp() {
    return Stream.of(
        row(
            "a first deployment is UPDATING until all of its replicas run",
            model -> {
              model.deploy("v1", 2).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.run("m1").is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.run("m2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x2");
            }),
        row(
            "three failed starts per replica before any has run are DEPLOY_FAILED, with the cause",
            model -> {
              model.deploy("v1", 2);
              assertThat(model.failStarts("v1", 100)).isEqualTo(6);
              model.is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("");
              assertThat(model.it.message(MODEL)).contains("6 failures").contains("no model");
            }),
        row(
            "at most max_constructor_retry_count failed starts, 20 by default",
            model -> {
              model.deploy("v1", 10);
              assertThat(model.failStarts("v1", 100)).isEqualTo(20);
              model.rollout = Rollouts.of(0.2, 20, 2);
              model.deploy("v2", 10);
              assertThat(model.failStarts("v2", 2)).isEqualTo(2);
              model.is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
            }),
        row(
            "what failed to deploy and has nothing that serves is not available",
            model -> {
              model.deploy("v1", 1);
              assertThat(model.it.available(MODEL)).isTrue();
              model.failStarts("v1", 2);
              assertThat(model.it.available(MODEL)).isTrue();
              model.failStarts("v1", 1);
              assertThat(model.it.available(MODEL)).isFalse();
            }),
        row(
            "starts that fail are spaced by a back-off",
            "only after the threshold",
            model -> {
              model.deploy("v1", 1);
              model.it.fail("m1", "no model");
              model.fleet("");
              model.it.advance(Duration.ofMillis(999));
              model.fleet("");
              model.it.advance(Duration.ofMillis(1));
              model.fleet("v1 STARTING x1");
              model.it.fail("m2", "no model");
              model.it.advance(Duration.ofMillis(1_999));
              model.fleet("");
              model.it.advance(Duration.ofMillis(1));
              model.fleet("v1 STARTING x1");
            }),
        row(
            "once one has run, the others are started for ever",
            model -> {
              model.deploy("v1", 2).run("m1");
              assertThat(model.failStarts("v1", 30)).isEqualTo(30);
              model.is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.it.runAll();
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a failure now and then does not keep a deployment from its number",
            model -> {
              model.deploy("v1", 2);
              model.it.fail("m1", "once");
              model.run("m2").pass(1).run("m3").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "deployed again, a version that failed is tried anew",
            model -> {
              model.deploy("v1", 1);
              model.failStarts("v1", 3);
              model.deploy("v1", 1).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.it.runAll();
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
              assertThat(model.it.available(MODEL)).isTrue();
            }));
  }

  static Stream<Row> health() {
    return Stream.of(
        row(
            "an unhealthy replica is replaced, and the deployment UNHEALTHY meanwhile",
            model -> {
              model.healthy("v1", 2);
              model.it.sick("m1");
              model.is("UNHEALTHY", "HEALTH_CHECK_FAILED").fleet("v1 RUNNING x2, v1 STARTING x1");
              model.routesTo("m2");
              model.finish().is("HEALTHY", "UNSPECIFIED").fleet("v1 RUNNING x2");
            }),
        row(
            "many that are unhealthy at once are replaced one for one",
            "all are stopped at once",
            model -> {
              model.healthy("v1", 4);
              List.of("m1", "m2", "m3").forEach(model.it::sick);
              model.fleet("v1 RUNNING x4, v1 STARTING x1");
              assertThat(model.routable()).hasSize(4); // one of four could not carry the load
              model.run("m5").fleet("v1 RUNNING x4, v1 STOPPING x1");
              model.pass(64).finish().fleet("v1 RUNNING x4").is("HEALTHY", "UNSPECIFIED");
            }),
        row(
            "the only replica serves on, though unhealthy, until another runs",
            "it is stopped at once, and nothing serves",
            model -> {
              model.healthy("v1", 1);
              model.it.sick("m1");
              model.fleet("v1 RUNNING x1, v1 STARTING x1").routesTo("m1");
              model.run("m2").routesTo("m2");
              assertThat(model.it.stopping()).containsExactly("m1");
            }),
        row(
            "a replica that died is replaced at once",
            model -> {
              model.healthy("v1", 2).die("m1");
              model.is("UNHEALTHY", "HEALTH_CHECK_FAILED").fleet("v1 RUNNING x1, v1 STARTING x1");
              model.routesTo("m2");
            }),
        row(
            "a replica that is well again is kept",
            model -> {
              model.healthy("v1", 1);
              model.it.sick("m1");
              model.it.well("m1");
              model.finish().is("HEALTHY", "UNSPECIFIED").fleet("v1 RUNNING x1").routesTo("m1");
            }),
        row(
            "a new version's replica that fails during the update is DEPLOY_FAILED until it is well",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2).run("m3").die("m3");
              model.is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
              model.pass(1).finish().is("HEALTHY", "UNSPECIFIED").fleet("v2 RUNNING x2");
            }),
        row(
            "an old version's replica that fails during the update changes no state",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2).die("m1");
              model.is("UPDATING", "CONFIG_UPDATE_STARTED");
            }),
        row(
            "while it scales, a failure is UNHEALTHY and not DEPLOY_FAILED",
            model -> {
              model.healthy("v1", 2).scale(3).is("UPSCALING", "CONFIG_UPDATE_STARTED");
              model.die("m1").is("UNHEALTHY", "HEALTH_CHECK_FAILED");
            }),
        row(
            "a crash loop of a version that has run is retried for ever, with longer waits",
            model -> {
              model.healthy("v1", 1);
              model.it.advance(Duration.ofHours(1));
              int starts = 0;
              for (long seconds : new long[] {0, 1, 2, 4, 8, 16, 32, 64, 64, 64}) {
                model.it.hosted.keySet().stream().toList().forEach(model.it::die);
                if (seconds > 0) {
                  model.fleet("");
                  model.it.advance(Duration.ofSeconds(seconds).minusMillis(1));
                  model.fleet("");
                  model.it.advance(Duration.ofMillis(1));
                }
                model.fleet("v1 STARTING x1").is("UNHEALTHY", "HEALTH_CHECK_FAILED");
                model.it.runAll();
                starts++;
              }
              assertThat(starts).isEqualTo(10);
              model.pass(60);
              model.it.hosted.keySet().stream().toList().forEach(model.it::die);
              model.fleet("v1 STARTING x1"); // it ran for a minute: this is a first failure
            }));
  }

  static Stream<Row> rollingUpdate() {
    return Stream.of(
        row(
            "a single replica is replaced without an outage",
            "stopped first: nothing serves until the new one runs",
            model -> {
              model.healthy("v1", 1).deploy("v2", 1).fleet("v1 RUNNING x1, v2 STARTING x1");
              model.run("m2").fleet("v1 STOPPING x1, v2 RUNNING x1").routesTo("m2");
              model.is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.it.stopAll();
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "with surge 0 old replicas are stopped first, a fifth at a time",
            model -> {
              model.surge(0).healthy("v1", 10).deploy("v2", 10);
              model.fleet("v1 RUNNING x8, v1 STOPPING x2, v2 STARTING x2");
              model.it.stopAll();
              model.fleet("v1 RUNNING x8, v2 STARTING x2");
              model.run("m11");
              model.fleet("v1 RUNNING x7, v1 STOPPING x1, v2 RUNNING x1, v2 STARTING x2");
              model.finish().fleet("v2 RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "with surge 0 and one replica there is an outage",
            model -> {
              model.surge(0).healthy("v1", 1).deploy("v2", 1);
              model.fleet("v1 STOPPING x1, v2 STARTING x1").routesTo();
            }),
        row(
            "rolling_update_percentage sets how many are replaced at a time",
            model -> {
              model.rollout = Rollouts.of(0.5, 0, 20);
              model.healthy("v1", 10).deploy("v2", 10);
              model.fleet("v1 RUNNING x5, v1 STOPPING x5, v2 STARTING x5");
            }),
        row(
            "max_surge_percent of the number are started first, rounded up",
            model -> {
              model.surge(25).healthy("v1", 5).deploy("v2", 5);
              model.fleet("v1 RUNNING x5, v2 STARTING x2");
              model.run("m6").fleet("v1 RUNNING x4, v1 STOPPING x1, v2 RUNNING x1, v2 STARTING x2");
              model.finish().fleet("v2 RUNNING x5").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "the default surge is a fifth, at least one",
            "0",
            model -> {
              model.healthy("v1", 10).deploy("v2", 10).fleet("v1 RUNNING x10, v2 STARTING x2");
            }),
        row(
            "old replicas go only for what runs beyond the number",
            model -> {
              model.surge(100).healthy("v1", 4).deploy("v2", 4);
              model.fleet("v1 RUNNING x4, v2 STARTING x4");
              model.die("m1").run("m5").fleet("v1 RUNNING x3, v2 RUNNING x1, v2 STARTING x3");
              model.run("m6").fleet("v1 RUNNING x2, v1 STOPPING x1, v2 RUNNING x2, v2 STARTING x2");
            }),
        row(
            "old replicas that still start are stopped first, without grace",
            model -> {
              model.deploy("v1", 2).run("m1").deploy("v2", 2);
              assertThat(model.it.stopping()).containsExactly("m2");
              assertThat(model.it.hosted.get("m2").grace).isZero();
              model.fleet("v1 RUNNING x1, v1 STOPPING x1, v2 STARTING x2");
            }),
        row(
            "a replacement starts without waiting for the drain of the old one",
            model -> {
              model.healthy("v1", 3).deploy("v2", 3);
              model.it.runAll(); // nothing has stopped yet
              model.fleet("v1 STOPPING x3, v2 RUNNING x3");
            }),
        row(
            "a new version and fewer replicas: the scaling is done first",
            model -> {
              model.healthy("v1", 4).deploy("v2", 2).fleet("v1 RUNNING x2, v1 STOPPING x2");
              model.it.stopAll();
              model.fleet("v1 RUNNING x2, v2 STARTING x1");
              model.finish().fleet("v2 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a new version and more replicas: the new ones are of it",
            model -> {
              model.healthy("v1", 2).deploy("v2", 4).fleet("v1 RUNNING x2, v2 STARTING x3");
              model.finish().fleet("v2 RUNNING x4");
            }),
        row(
            "another version before the rollout is over: the newest is rolled out",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2).run("m3");
              model.deploy("v3", 2).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.finish().fleet("v3 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }));
  }

  static Stream<Row> freeze() {
    return Stream.of(
        row(
            "a new version that does not start freezes the rollout, and the old one serves on",
            "only with RAY_SERVE_STOP_FAILED_ROLLING_UPDATES",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2);
              assertThat(model.failStarts("v2", 100)).isEqualTo(3); // for the one it may surge by
              model.is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("v1 RUNNING x2");
              assertThat(model.it.message(MODEL)).contains("frozen").contains("no model");
              model.routesTo("m1", "m2");
              assertThat(model.it.available(MODEL)).isTrue();
            }),
        row(
            "a new version that does not stay healthy freezes it too",
            "only with RAY_SERVE_STOP_FAILED_ROLLING_UPDATES",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2);
              for (int i = 0; i < 6; i++) {
                model.pass(64);
                String newest = model.it.hosted.keySet().stream().reduce((a, b) -> b).orElseThrow();
                model.run(newest).die(newest);
              }
              model.is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
              assertThat(model.it.message(MODEL)).contains("did not stay healthy");
              model.pass(64).finish();
              model.fleet("v1 RUNNING x2").is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
            }),
        row(
            "a version that fails soon after all of it ran freezes it too, and the old one is back",
            "its replicas are started again and again",
            model -> {
              model.healthy("v1", 3).deploy("v2", 3).finish();
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v2 RUNNING x3");
              model.pass(30);
              List.copyOf(model.it.hosted.keySet()).forEach(model.it::sick);
              model.is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
              assertThat(model.routable()).hasSize(3); // until others serve
              for (int i = 0; i < 3; i++) {
                model.pass(64).finish();
                assertThat(model.routable()).hasSize(3);
              }
              model.fleet("v1 RUNNING x3").is("DEPLOY_FAILED", "HEALTH_CHECK_FAILED");
            }),
        row(
            "a version that stayed well for its trial is what the next one falls back on",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2).finish().pass(60).deploy("v3", 2);
              model.failStarts("v3", 100);
              model.die(model.routable().get(0)).pass(64).finish();
              model.fleet("v2 RUNNING x2").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
            }),
        row(
            "what a frozen rollout lacks is made up for by the version before",
            "it is left lacking",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2);
              model.failStarts("v2", 6);
              model.die("m1").pass(120).fleet("v1 RUNNING x1, v1 STARTING x1");
              model.it.runAll();
              model.fleet("v1 RUNNING x2").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
            }),
        row(
            "a frozen version's replicas that run serve on too",
            model -> {
              model.healthy("v1", 4).deploy("v2", 4).run("m5");
              model.it.stopAll();
              model.failStarts("v2", 12);
              model.fleet("v1 RUNNING x3, v2 RUNNING x1");
            }),
        row(
            "the next deploy ends the freeze",
            model -> {
              model.healthy("v1", 1).deploy("v2", 1);
              model.failStarts("v2", 3);
              model.deploy("v3", 1).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.finish().fleet("v3 RUNNING x1").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "back to the version before, nothing is restarted",
            model -> {
              model.healthy("v1", 1).deploy("v2", 1);
              model.failStarts("v2", 3);
              model.deploy("v1", 1).is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x1");
              model.routesTo("m1");
            }));
  }

  static Stream<Row> changes() {
    return Stream.of(
        row(
            "deployed again unchanged, nothing happens",
            model -> {
              model.healthy("v1", 2);
              model.it.log.clear();
              model.deploy("v1", 2);
              assertThat(model.it.asked(StartReplica.class)).isEmpty();
              assertThat(model.it.asked(StopReplica.class)).isEmpty();
              assertThat(model.it.announced(MODEL)).isEmpty();
            }),
        row(
            "other code restarts the replicas",
            model -> {
              model.healthy("v1", 1).deploy("v2", 1);
              assertThat(model.it.asked(ReconfigureReplica.class)).isEmpty();
              assertThat(model.it.asked(StartReplica.class)).hasSize(2);
            }),
        row(
            "another user_config is given to running replicas, a fifth at a time",
            model -> {
              model.healthy("v1", 10);
              model.userConfig = Map.of("a", 1);
              model.deploy("v1", "b", 10).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.fleet("v1 RUNNING x8, v1b UPDATING x2");
              model.it.reconfigured("m1");
              model.fleet("v1 RUNNING x7, v1b RUNNING x1, v1b UPDATING x2");
              model.finish().fleet("v1b RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
              assertThat(model.it.asked(StartReplica.class)).hasSize(10);
            }),
        row(
            "until what failed is made up for no other is reconfigured",
            "what failed is stopped, and counts as one of the fifth",
            model -> {
              model.healthy("v1", 10);
              model.userConfig = Map.of("a", 1);
              model.deploy("v1", "b", 10).fleet("v1 RUNNING x8, v1b UPDATING x2");
              model.it.sick("m10");
              model.it.reconfigured("m1");
              model.fleet("v1 RUNNING x8, v1b RUNNING x1, v1b STARTING x1, v1b UPDATING x1");
              model.it.run("m11");
              model.it.stopAll();
              model.fleet("v1 RUNNING x6, v1b RUNNING x2, v1b UPDATING x2");
              model.it.die("m2");
              model.it.advance(Duration.ofSeconds(64));
              model.fleet("v1 RUNNING x6, v1b RUNNING x2, v1b STARTING x1, v1b UPDATING x1");
            }),
        row(
            "replicas take requests while they are reconfigured",
            "they are not routable",
            model -> {
              model.healthy("v1", 1);
              model.userConfig = Map.of("a", 1);
              model.deploy("v1", "b", 1).fleet("v1b UPDATING x1").routesTo("m1");
            }),
        row(
            "other live settings are given to all at once",
            "at the pace of a rollout",
            model -> {
              model.healthy("v1", 10).deploy("v1", "b", 10).fleet("v1b UPDATING x10");
              model.finish().fleet("v1b RUNNING x10").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a replica that still starts is reconfigured when it runs",
            model -> {
              model.deploy("v1", 1).deploy("v1", "b", 1).fleet("v1 STARTING x1");
              model.run("m1").fleet("v1b UPDATING x1");
              model.it.reconfigured("m1");
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a replica that does not take its configuration is replaced",
            model -> {
              model.healthy("v1", 2);
              model.userConfig = Map.of("a", 1);
              model.deploy("v1", "b", 2).fleet("v1 RUNNING x1, v1b UPDATING x1");
              model.it.refuse("m1", "bad value");
              model.routesTo("m2").fleet("v1 RUNNING x2, v1b STARTING x1");
              model.pass(1).finish();
              model.fleet("v1b RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a configuration that is not taken freezes the rollout, and the one before serves on",
            "it is tried for ever",
            model -> {
              model.healthy("v1", 1);
              model.userConfig = Map.of("a", 1);
              model.deploy("v1", "b", 1);
              model.it.refuse("m1", "bad value");
              model.routesTo("m1");
              for (int i = 0; i < 2; i++) {
                model.pass(4);
                String newest = model.it.hosted.keySet().stream().reduce((a, b) -> b).orElseThrow();
                model.it.fail(newest, "bad value");
              }
              model.is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
              model.pass(8).finish();
              model.fleet("v1 RUNNING x1").is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED");
              model.routesTo("m4");
            }),
        row(
            "max_queued_requests and the pace of updates touch no replica",
            model -> {
              model.healthy("v1", 1);
              model.it.log.clear();
              model.queue = 7;
              model.deploy("v1", 1);
              assertThat(model.it.announced(MODEL))
                  .containsExactly(
                      "UPDATING CONFIG_UPDATE_STARTED", "HEALTHY CONFIG_UPDATE_COMPLETED");
              assertThat(model.it.asked(Configure.class)).hasSize(1);
              assertThat(model.it.asked(StartReplica.class)).isEmpty();
              assertThat(model.it.asked(ReconfigureReplica.class)).isEmpty();
            }));
  }

  static Stream<Row> scaling() {
    return Stream.of(
        row(
            "more replicas: UPSCALING, then HEALTHY",
            model -> {
              model.healthy("v1", 1).scale(3).is("UPSCALING", "CONFIG_UPDATE_STARTED");
              model.fleet("v1 RUNNING x1, v1 STARTING x2");
              model.finish().is("HEALTHY", "UPSCALE_COMPLETED").fleet("v1 RUNNING x3");
            }),
        row(
            "fewer replicas: DOWNSCALING until they have stopped, then HEALTHY",
            model -> {
              model.healthy("v1", 3).scale(1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
              model.fleet("v1 RUNNING x1, v1 STOPPING x2");
              model.finish().is("HEALTHY", "DOWNSCALE_COMPLETED");
            }),
        row(
            "another number in the configuration is scaling too",
            model -> {
              model.healthy("v1", 1).deploy("v1", 2).is("UPSCALING", "CONFIG_UPDATE_STARTED");
              model.finish().deploy("v1", 1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
            }),
        row(
            "another number while it is UPDATING leaves it UPDATING",
            model -> {
              model.deploy("v1", 1).scale(2).is("UPDATING", "CONFIG_UPDATE_STARTED");
              model.finish().is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x2");
            }),
        row(
            "another version while it scales makes it UPDATING",
            model -> {
              model.healthy("v1", 1).scale(2).deploy("v2", 2);
              model.is("UPDATING", "CONFIG_UPDATE_STARTED");
            }),
        row(
            "up and down again before it is done",
            model -> {
              model.healthy("v1", 2).scale(4).scale(1).is("DOWNSCALING", "CONFIG_UPDATE_STARTED");
              model.finish().is("HEALTHY", "DOWNSCALE_COMPLETED").fleet("v1 RUNNING x1");
            }),
        row(
            "fewer while sick ones are replaced: at most one more than wanted is there",
            "what is sick is stopped at once",
            model -> {
              model.healthy("v1", 4).scale(6);
              List.of("m1", "m2").forEach(model.it::sick);
              model.fleet("v1 RUNNING x4, v1 STARTING x3").scale(4);
              model.fleet("v1 RUNNING x4, v1 STARTING x1, v1 STOPPING x2");
            }),
        row(
            "fewer during an update: those of the version before are stopped first",
            "the newest are",
            model -> {
              model.healthy("v1", 4).deploy("v2", 4);
              model.it.run("m5");
              model.it.stopAll();
              model.scale(1);
              model.fleet("v1 RUNNING x1, v1 STOPPING x2, v2 RUNNING x1, v2 STOPPING x1");
            }),
        row(
            "replicas that do not run yet are stopped first",
            model -> {
              model.healthy("v1", 2).scale(4).scale(2);
              assertThat(model.it.stopping()).containsExactlyInAnyOrder("m3", "m4");
              model.routesTo("m1", "m2");
            }),
        row(
            "then the least busy",
            "regardless of what they do",
            model -> {
              model.healthy("v1", 3);
              model.it.ongoing.putAll(Map.of("m1", 2, "m2", 0, "m3", 5));
              model.scale(2);
              assertThat(model.it.stopping()).containsExactly("m2");
            }),
        row(
            "then the newest, and those of which nothing is known last",
            model -> {
              model.healthy("v1", 3).scale(2);
              assertThat(model.it.stopping()).containsExactly("m3");
              model.it.stopAll();
              model.it.ongoing.put("m1", 9);
              model.scale(1);
              assertThat(model.it.stopping()).containsExactly("m1");
            }),
        row(
            "with no replicas wanted it is HEALTHY and its callers may wait",
            model -> {
              model.healthy("v1", 2).scale(0).finish();
              model.is("HEALTHY", "DOWNSCALE_COMPLETED").fleet("");
              assertThat(model.it.available(MODEL)).isTrue();
              model.scale(1).fleet("v1 STARTING x1").is("UPSCALING", "CONFIG_UPDATE_STARTED");
              model.finish().is("HEALTHY", "UPSCALE_COMPLETED");
            }));
  }

  static Stream<Row> stopping() {
    return Stream.of(
        row(
            "a replica that is to stop leaves the routers at once and has its grace",
            model -> {
              model.grace = 7;
              model.healthy("v1", 2).scale(1).routesTo("m1");
              assertThat(model.it.hosted.get("m2").grace).isEqualTo(Duration.ofSeconds(7));
            }),
        row(
            "deleted, it is UPDATING DELETING until its last replica has stopped",
            model -> {
              model.healthy("v1", 2);
              model.it.send(new ControllerEvent.Withdrawn("app"));
              model.is("UPDATING", "DELETING").fleet("v1 STOPPING x2");
              assertThat(model.it.available(MODEL)).isFalse();
              model.it.stopAll();
              assertThat(model.it.controller.applications()).isEmpty();
            }),
        row(
            "deleted while it starts, nothing of it is left",
            model -> {
              model.deploy("v1", 1);
              model.it.send(new ControllerEvent.Withdrawn("app"));
              model.fleet("v1 STOPPING x1");
              model.it.send(
                  new ControllerEvent.ReplicaRunning(
                      DrivenController.info(model.it.hosted.get("m1"))));
              assertThat(model.it.asked(StopReplica.class)).hasSize(2);
              model.it.stopAll();
              assertThat(model.it.controller.applications()).isEmpty();
            }),
        row(
            "deployed again while it is deleted, it comes back",
            model -> {
              model.healthy("v1", 1);
              model.it.send(new ControllerEvent.Withdrawn("app"));
              model.deploy("v1", 1).fleet("v1 STARTING x1, v1 STOPPING x1");
              model.finish().is("HEALTHY", "CONFIG_UPDATE_COMPLETED").fleet("v1 RUNNING x1");
              assertThat(model.it.available(MODEL)).isTrue();
            }));
  }

  static Stream<Row> recovery() {
    return Stream.of(
        row(
            "a controller that starts anew finds its replicas and restarts none",
            model -> {
              model.healthy("v1", 2);
              model.it.restart();
              model.it.log.clear();
              model.deploy("v1", 2);
              model.it.tellInventory();
              assertThat(model.it.asked(StartReplica.class)).isEmpty();
              assertThat(model.it.asked(StopReplica.class)).isEmpty();
              model.is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
              assertThat(model.it.asked(ControllerAction.AnnounceReplica.class))
                  .extracting(each -> each.replicaId() + " " + each.phase())
                  .containsExactly("m1 RECOVERING", "m1 RUNNING", "m2 RECOVERING", "m2 RUNNING");
              model.routesTo("m1", "m2");
            }),
        row(
            "nothing is published until it has heard of its replicas, at most 10 s",
            model -> {
              model.healthy("v1", 1);
              model.it.restart();
              model.it.log.clear();
              model.deploy("v1", 1);
              model.it.advance(Duration.ofMillis(9_999));
              assertThat(model.it.asked(ControllerAction.Publish.class)).isEmpty();
              assertThat(model.it.asked(StartReplica.class)).isEmpty();
              model.it.advance(Duration.ofMillis(1));
              assertThat(model.it.asked(StartReplica.class)).hasSize(1);
            }),
        row(
            "found in the middle of a rolling update, it goes on",
            model -> {
              model.healthy("v1", 2).deploy("v2", 2).run("m3");
              model.it.restart();
              model.deploy("v2", 2);
              model.it.tellInventory();
              model.finish().fleet("v2 RUNNING x2").is("HEALTHY", "CONFIG_UPDATE_COMPLETED");
            }),
        row(
            "a rollout that fails after a restart is frozen by what was found",
            model -> {
              model.healthy("v1", 1).deploy("v2", 1);
              model.it.restart();
              model.deploy("v2", 1);
              model.it.tellInventory();
              model.failStarts("v2", 3);
              model.is("DEPLOY_FAILED", "REPLICA_STARTUP_FAILED").fleet("v1 RUNNING x1");
            }));
  }

  @ParameterizedTest
  @MethodSource({
    "startUp",
    "health",
    "rollingUpdate",
    "freeze",
    "changes",
    "scaling",
    "stopping",
    "recovery"
  })
  void eachRuleHolds(Row row) {
    row.holds().accept(new Model());
  }
}
