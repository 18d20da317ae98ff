package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ScalingDetails;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A controller whose deployment follows its load, as an instance reports it, on a virtual clock.
 */
class AutoscaledDeploymentsTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");

  private final DrivenController world = new DrivenController();
  private long sequence;
  private long term = 1;

  @BeforeEach
  void heard() {
    world.controller.recover(List.of(DrivenController.NODE), 0);
    world.tellInventory();
  }

  static DeploymentTarget target(int code, String autoscaling) {
    Settings settings =
        Yaml.read(
                "applications: [{import_path: a.B, deployments: [{name: model, autoscaling_config: {"
                    + autoscaling
                    + "}}]}]")
            .applications()
            .get(0)
            .deployment(Deployment.of("model", context -> null));
    return new DeploymentTarget(MODEL, "b" + code, new DeploymentVersion("v" + code, ""), settings);
  }

  /** The load of each of so many seconds. */
  private void load(double load, int seconds) {
    for (int i = 0; i < seconds; i++) {
      world.advance(Duration.ofSeconds(1));
      boolean zero = load == 0;
      report(new HandleMetricReport(MODEL, 0, zero ? 0 : 1, 0, load, 0, false));
    }
  }

  private void report(HandleMetricReport... reports) {
    HandleMetricBatch batch =
        new HandleMetricBatch(
            DrivenController.NODE, 1, ++sequence, List.of(reports), List.of(), List.of());
    world.apply(world.controller.on(batch, world.now));
  }

  private int wanted() {
    return world.controller.details("app").deployments().get(0).targetReplicas();
  }

  private List<Integer> kept() {
    return world.log.stream()
        .filter(Rescale.class::isInstance)
        .map(action -> ((Rescale) action).now())
        .map(now -> now == null ? null : now.replicas())
        .toList();
  }

  @Test
  void moreLoadIsMetByMoreReplicasAfterTheDelayAndLessByFewer() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 5, downscale_delay_s: 20"));
    assertThat(wanted()).isEqualTo(1);

    load(8, 4);
    assertThat(wanted()).isEqualTo(1);
    load(8, 3);
    assertThat(wanted()).isBetween(2, 4);
    assertThat(world.announced(MODEL)).last().isEqualTo("UPSCALING AUTOSCALING");
    world.finish();
    load(8, 60);
    world.finish();
    load(8, 60);
    assertThat(wanted()).isEqualTo(4);
    world.finish();
    assertThat(world.announced(MODEL)).last().isEqualTo("HEALTHY UPSCALE_COMPLETED");

    load(2, 80);
    assertThat(wanted()).isEqualTo(1);
    assertThat(world.stopping()).isNotEmpty();
    assertThat(kept()).endsWith(1).contains(4);
  }

  @Test
  void oneThatHasNoneGetsItsFirstAtOnceAndLosesItsLastAfterItsDelay() {
    world.serve(
        "app", target(1, "min_replicas: 0, downscale_delay_s: 2, downscale_to_zero_delay_s: 8"));
    assertThat(wanted()).isZero();

    report(new HandleMetricReport(MODEL, 1, 0, 0, 1, 0, false));
    assertThat(wanted()).isEqualTo(1);
    assertThat(world.asked(Rescale.class))
        .last()
        .extracting(it -> it.decision().load())
        .isEqualTo(1.0);
    world.finish();

    load(1, 40);
    assertThat(wanted()).isEqualTo(1);
    load(0, 37); // what waited stays in the window for 30 s
    assertThat(wanted()).isEqualTo(1);
    load(0, 3);
    assertThat(wanted()).isZero();
  }

  @Test
  void whatIsKeptIsWhereAnotherControllerBeginsAndItStopsNothingOnWhatItDoesNotKnow() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 0"));
    load(12, 40);
    world.finish();
    load(12, 40);
    world.finish();
    load(12, 40);
    world.finish();
    assertThat(wanted()).isEqualTo(6);

    world.restart();
    Autoscaled kept = new Autoscaled(6, false, null);
    world.send(new ControllerEvent.Declared(world.application("app", "/", MODEL.name(), kept)));
    world.tellInventory();
    world.advance(Duration.ofSeconds(29)); // and nothing is reported
    assertThat(wanted()).isEqualTo(6);
    assertThat(world.stopping()).isEmpty();

    load(12, 60);
    assertThat(wanted()).isEqualTo(6);
  }

  @Test
  void aPauseHoldsTheNumberThatWasSetUntilItGoesOn() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 0"));
    world.send(new ControllerEvent.Paused(MODEL, new Autoscaled(3, true, null)));
    world.finish();
    load(20, 60);
    assertThat(wanted()).isEqualTo(3);

    world.send(new ControllerEvent.Paused(MODEL, new Autoscaled(3, false, null)));
    load(20, 2);
    assertThat(wanted()).isEqualTo(10);
  }

  @Test
  void aDeploymentThatFollowsNoMoreKeepsNothing() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 0"));
    load(20, 3);
    assertThat(kept()).isNotEmpty().doesNotContainNull();

    Settings fixed = DrivenController.settings("model", 2, DeploymentConfig.of("model"));
    world.serve("app", new DeploymentTarget(MODEL, "b2", new DeploymentVersion("v2", ""), fixed));
    assertThat(wanted()).isEqualTo(2);
    assertThat(kept()).endsWith((Integer) null);
  }

  @Test
  void fewerWaitUntilARolloutIsOver() {
    String autoscaling = "max_replicas: 4, initial_replicas: 4, downscale_delay_s: 1";
    world.serve("app", target(1, autoscaling));
    load(8, 40);
    world.declare("app", target(2, autoscaling));
    load(1, 60);
    assertThat(wanted()).isEqualTo(4);

    world.finish();
    load(1, 10);
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void operatorsSeeWhyThereAreAsManyAsThereAre() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 5, downscale_delay_s: 20"));
    load(8, 7);
    world.finish();
    load(8, 3);

    ScalingView view = world.controller.autoscaling(MODEL, world.now);
    assertThat(view.decisions())
        .extracting(each -> each.reason().name())
        .contains("SCALED_UP", "DELAY", "STEADY");
    assertThat(view.decisions().get(0).nanos())
        .isGreaterThan(view.decisions().get(view.decisions().size() - 1).nanos());
    assertThat(view.inputs().sources())
        .singleElement()
        .satisfies(
            source -> {
              assertThat(source.name()).isEqualTo(DrivenController.NODE);
              assertThat(source.load()).isEqualTo(8);
            });
    assertThat(view.demand().averageLoad()).isEqualTo(8);
    assertThat(view.now().minReplicas()).isEqualTo(1);
    assertThat(view.now().maxReplicas()).isEqualTo(10);
    assertThat(view.now().target()).isEqualTo(2);
    assertThat(view.now().load()).isBetween(7.0, 8.0);
    assertThat(view.now().paused()).isFalse();
    assertThat(view.now().lastChange())
        .matches(
            "1 -> [234] replicas, 1 running, load [0-9.]+: more were wanted for upscale_delay_s");
    assertThat(view.now().reportMs()).isZero();
    assertThat(details()).isEqualTo(view.now());
  }

  @Test
  void aLookOfAnOperatorDecidesNothing() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 5"));
    load(8, 3);
    int before = world.controller.autoscaling(MODEL, world.now).decisions().size();
    long late = world.now + Duration.ofHours(1).toNanos();
    assertThat(world.controller.autoscaling(MODEL, late).now().reason()).isEqualTo("SCALED_UP");
    assertThat(world.controller.autoscaling(MODEL, late).now().reportMs()).isEqualTo(3_600_000);
    assertThat(world.controller.autoscaling(MODEL, late).now().unknown()).isEqualTo(1);
    assertThat(world.controller.autoscaling(MODEL, world.now).decisions()).hasSize(before);
    assertThat(wanted()).isEqualTo(1);
  }

  @Test
  void aDelayThatRunsIsShownWithItsEndAndAPauseWithItsNumber() {
    world.serve("app", target(1, "max_replicas: 10, upscale_delay_s: 60"));
    load(8, 3);
    assertThat(details().reason()).isEqualTo("DELAY");
    assertThat(details().untilMs() - details().atMs()).isBetween(57_000L, 60_000L);

    world.send(new ControllerEvent.Paused(MODEL, new Autoscaled(3, true, null)));
    assertThat(details().paused()).isTrue();
    assertThat(details().replicas()).isEqualTo(3);
    assertThat(details().untilMs()).isNull();
    assertThat(details().why()).contains("berth scale --auto");
  }

  @Test
  void ofOneWhoseNumberDoesNotFollowItsLoadNothingIsShown() {
    world.serve("app", target(1, "max_replicas: 10"));
    assertThat(world.controller.autoscaling(new DeploymentId("app", "x"), world.now)).isNull();
    assertThat(world.controller.autoscaling(new DeploymentId("x", "model"), world.now)).isNull();
  }

  private ScalingDetails details() {
    return world
        .controller
        .details(null, null, world.now)
        .applications()
        .get(0)
        .deployments()
        .get(0)
        .autoscaling();
  }
}
