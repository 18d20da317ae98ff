package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Answer;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.autoscaling.PolicyAnswer;
import dev.berth.controller.autoscaling.PolicyReply;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A controller that asks policies, which the test answers for, on a virtual clock. */
class AskedPoliciesTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final String FAST = "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 0";
  private static final String OWN = FAST + ", policy: {policy_function: com.acme.Pace}";

  private final DrivenController world = new DrivenController();

  @BeforeEach
  void heard() {
    world.controller.recover(List.of(DrivenController.NODE), 0);
    world.tellInventory();
  }

  private static ApplicationConfig config(String name, String autoscaling) {
    return Yaml.read(
            "applications: [{import_path: a.B, autoscaling_policy: {policy_function: com.acme.All},"
                + " deployments: [{name: "
                + name
                + ", autoscaling_config: {"
                + autoscaling
                + "}}]}]")
        .applications()
        .get(0);
  }

  private static DeploymentTarget target(DeploymentId id, int code, String autoscaling) {
    Settings settings =
        config(id.name(), autoscaling).deployment(Deployment.of(id.name(), context -> null));
    return new DeploymentTarget(id, "b" + code, new DeploymentVersion("v" + code, ""), settings);
  }

  private <T> List<T> all(Class<T> type) {
    return world.log.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private AskPolicy asked() {
    List<AskPolicy> asks = all(AskPolicy.class);
    return asks.get(asks.size() - 1);
  }

  private int asks() {
    return all(AskPolicy.class).size();
  }

  /** A second later it is asked. */
  private AskPolicy serve(DeploymentTarget... targets) {
    world.serve("app", targets);
    world.advance(Duration.ofSeconds(1));
    return asked();
  }

  private Object remembered() {
    return asked().contexts().get(0).state().getOrDefault("n", "nothing");
  }

  private static PolicyReply reply(double replicas, @Nullable String state) {
    return new PolicyReply(PolicyAnswer.of(Answer.of(replicas)), state);
  }

  private static PolicyAnswered answered(AskPolicy ask, Map<DeploymentId, PolicyReply> replies) {
    return new PolicyAnswered(ask.source(), replies);
  }

  /** With what it remembers as {@code n}. */
  private void answer(AskPolicy ask, double replicas, @Nullable Integer state) {
    String json = state == null ? null : "{\"com.acme.Pace\":{\"n\":" + state + "}}";
    world.send(answered(ask, Map.of(MODEL, reply(replicas, json))));
    world.finish();
  }

  private int wanted(DeploymentId id) {
    return world.controller.details("app").deployments().stream()
        .filter(each -> each.name().equals(id.name()))
        .findFirst()
        .orElseThrow()
        .targetReplicas();
  }

  private @Nullable Rescale kept() {
    List<Rescale> all = all(Rescale.class);
    return all.isEmpty() ? null : all.get(all.size() - 1);
  }

  @Test
  void itIsAskedOnceASecondAndItsLastAnswerHolds() {
    world.serve("app", target(MODEL, 1, OWN));
    world.advance(Duration.ofMillis(999));
    assertThat(asks()).isZero();
    world.advance(Duration.ofMillis(1));
    assertThat(asked().contexts().get(0).maxReplicas()).isEqualTo(10);
    world.advance(Duration.ofSeconds(3));
    assertThat(asks()).isEqualTo(4);
    assertThat(wanted(MODEL)).isEqualTo(1);

    answer(asked(), 4, null);
    assertThat(wanted(MODEL)).isEqualTo(4);
    world.advance(Duration.ofSeconds(60));
    assertThat(asks()).isEqualTo(64);
    assertThat(asked().contexts().get(0).running()).isEqualTo(4);
    assertThat(wanted(MODEL)).isEqualTo(4);
  }

  @Test
  void theHungPolicyOfOneApplicationHoldsUpNoOther() {
    DeploymentId another = new DeploymentId("second", "model");
    world.serve("app", target(MODEL, 1, OWN));
    world.serve("second", target(another, 1, OWN));
    world.advance(Duration.ofSeconds(1));
    AskPolicy ask =
        all(AskPolicy.class).stream()
            .filter(each -> each.source().scope().application().equals("second"))
            .findFirst()
            .orElseThrow();
    world.send(answered(ask, Map.of(another, reply(6, null))));

    assertThat(wanted(MODEL)).isEqualTo(1);
    assertThat(world.controller.details("second").deployments().get(0).targetReplicas())
        .isEqualTo(6);
  }

  @Test
  void whatAnOlderBuildAnswersIsDropped() {
    AskPolicy old = serve(target(MODEL, 1, OWN));
    AskPolicy wanted = serve(target(MODEL, 2, OWN));
    assertThat(wanted.source().build()).isEqualTo("b2");

    answer(old, 9, 1);
    assertThat(wanted(MODEL)).isEqualTo(1);
    assertThat(remembered()).isEqualTo("nothing");
    answer(wanted, 2, null);
    assertThat(wanted(MODEL)).isEqualTo(2);
  }

  @Test
  void aPolicyThatIsNamedNoMoreIsAskedNoMoreAndTheRatioDecides() {
    AskPolicy old = serve(target(MODEL, 1, OWN));
    world.serve("app", target(MODEL, 1, FAST));
    int asks = asks();
    answer(old, 9, null);
    world.advance(Duration.ofMinutes(1));
    assertThat(asks()).isEqualTo(asks);
    assertThat(wanted(MODEL)).isEqualTo(1);

    world.send(new ControllerEvent.Withdrawn("app"));
    world.finish();
    answer(old, 9, null);
    assertThat(world.controller.nextWakeNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void whatAnOperatorSetHoldsWhateverItSays() {
    answer(serve(target(MODEL, 1, OWN)), 2, null);
    world.send(new ControllerEvent.Paused(MODEL, new Autoscaled(7, true, null)));
    world.finish();
    for (int i = 0; i < 25; i++) {
      world.advance(Duration.ofSeconds(1));
      answer(asked(), 9, i);
    }
    assertThat(wanted(MODEL)).isEqualTo(7);

    world.send(new ControllerEvent.Paused(MODEL, new Autoscaled(7, false, null)));
    world.advance(Duration.ofSeconds(1));
    assertThat(wanted(MODEL)).isEqualTo(9);
    assertThat(remembered()).isEqualTo(24);
  }

  @Test
  void whatItRemembersIsKeptWithTheNumberAndAloneAtMostEachTenSeconds() {
    answer(serve(target(MODEL, 1, OWN)), 3, 1);
    assertThat(kept()).isNotNull();
    assertThat(kept().now()).isEqualTo(new Autoscaled(3, false, "{\"com.acme.Pace\":{\"n\":1}}"));
    int writes = all(Rescale.class).size();
    for (int i = 2; i < 27; i++) {
      world.advance(Duration.ofSeconds(1));
      assertThat(remembered()).isEqualTo(i - 1);
      answer(asked(), 3, i);
    }
    assertThat(all(Rescale.class)).hasSize(writes + 2);
    assertThat(kept().decision()).isNull();
  }

  @Test
  void aFailureAndAnotherClassLeaveWhatItRemembers() {
    answer(serve(target(MODEL, 1, OWN)), 3, 1);
    world.send(answered(asked(), Map.of(MODEL, PolicyReply.failed("it threw"))));
    assertThat(wanted(MODEL)).isEqualTo(3);
    world.advance(Duration.ofSeconds(1));
    assertThat(remembered()).isEqualTo(1);

    serve(target(MODEL, 1, OWN.replace("Pace", "Another")));
    assertThat(remembered()).isEqualTo("nothing");
  }

  @Test
  void aControllerThatFollowsHandsBackWhatWasKept() {
    serve(target(MODEL, 1, OWN));
    world.restart();
    Autoscaled kept = new Autoscaled(4, false, "{\"com.acme.Pace\":{\"n\":5}}");
    world.send(new ControllerEvent.Declared(world.application("app", "/", MODEL.name(), kept)));
    world.tellInventory();
    world.advance(Duration.ofSeconds(1));
    assertThat(asked().epoch().term()).isEqualTo(2);
    assertThat(remembered()).isEqualTo(5);
    assertThat(wanted(MODEL)).isEqualTo(4);
  }

  @Test
  void onePolicyOfAnApplicationIsAskedForAllTogetherAndMayLeaveSomeOut() {
    DeploymentId last = new DeploymentId("app", "last");
    Settings policy = config("model", FAST).settings().get(ApplicationConfig.AUTOSCALING_POLICY);
    DeploymentTarget[] targets = {
      target(MODEL, 1, OWN), target(OTHER, 1, FAST), target(last, 1, FAST)
    };
    world.serve("app", targets);
    world.code.put("app", new BuiltApplication("b1", "model", List.of(targets), policy));
    world.revision++;
    world.send(new ControllerEvent.Declared(world.application("app", "/")));
    world.advance(Duration.ofSeconds(5));
    assertThat(asks()).isEqualTo(5);
    assertThat(asked().source().scope().deployment()).isNull();
    assertThat(asked().contexts()).hasSize(3);

    DeploymentId stranger = new DeploymentId("other", "model");
    world.send(
        answered(
            asked(),
            Map.of(OTHER, reply(5, null), MODEL, reply(2, "{}"), stranger, reply(7, null))));
    world.finish();
    assertThat(Stream.of(MODEL, OTHER, last).map(this::wanted)).containsExactly(2, 5, 1);
    assertThat(all(Rescale.class)).extracting(Rescale::deployment).containsOnly(MODEL, OTHER);
  }
}
