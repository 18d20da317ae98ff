package dev.berth.controller;

import static dev.berth.controller.DrivenController.MODEL;
import static dev.berth.controller.DrivenController.autoscaled;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Answer;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Decided;
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
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final String FAST = "max_replicas: 10, upscale_delay_s: 0, downscale_delay_s: 0";
  private static final String OWN = FAST + ", policy: {policy_function: com.acme.Pace}";

  private final DrivenController world = new DrivenController();

  @BeforeEach
  void heard() {
    world.heard();
  }

  private AskPolicy asked() {
    return world.asked(AskPolicy.class).get(asks() - 1);
  }

  private int asks() {
    return world.asked(AskPolicy.class).size();
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
    return new PolicyAnswered(ask.source(), replies, 7);
  }

  /** With what it remembers as {@code n}. */
  private void answer(AskPolicy ask, double replicas, @Nullable Integer state) {
    String json = state == null ? null : "{\"com.acme.Pace\":{\"n\":" + state + "}}";
    world.send(answered(ask, Map.of(MODEL, reply(replicas, json))));
    world.finish();
  }

  @Test
  void itIsAskedOnceASecondAndItsLastAnswerHolds() {
    world.serve("app", autoscaled(MODEL, 1, OWN));
    world.advance(Duration.ofMillis(999));
    assertThat(asks()).isZero();
    world.advance(Duration.ofMillis(1));
    assertThat(asked().contexts().get(0).maxReplicas()).isEqualTo(10);
    world.advance(Duration.ofSeconds(3));
    assertThat(asks()).isEqualTo(4);
    assertThat(world.wanted(MODEL)).isEqualTo(1);

    answer(asked(), 4, null);
    assertThat(world.wanted(MODEL)).isEqualTo(4);
    world.advance(Duration.ofSeconds(60));
    assertThat(asks()).isEqualTo(64);
    assertThat(asked().contexts().get(0).running()).isEqualTo(4);
    assertThat(world.wanted(MODEL)).isEqualTo(4);
  }

  @Test
  void theHungPolicyOfOneApplicationHoldsUpNoOther() {
    DeploymentId another = new DeploymentId("second", "model");
    world.serve("app", autoscaled(MODEL, 1, OWN));
    world.serve("second", autoscaled(another, 1, OWN));
    world.advance(Duration.ofSeconds(1));
    AskPolicy ask =
        world.asked(AskPolicy.class).stream()
            .filter(each -> each.source().scope().application().equals("second"))
            .findFirst()
            .orElseThrow();
    world.send(answered(ask, Map.of(another, reply(6, null))));

    assertThat(world.wanted(MODEL)).isEqualTo(1);
    assertThat(world.wanted(another)).isEqualTo(6);
  }

  @Test
  void whatAnOlderBuildAnswersIsDropped() {
    AskPolicy old = serve(autoscaled(MODEL, 1, OWN));
    AskPolicy wanted = serve(autoscaled(MODEL, 2, OWN));
    assertThat(wanted.source().build()).isEqualTo("b2");

    answer(old, 9, 1);
    assertThat(world.wanted(MODEL)).isEqualTo(1);
    assertThat(remembered()).isEqualTo("nothing");
    answer(wanted, 2, null);
    assertThat(world.wanted(MODEL)).isEqualTo(2);
  }

  @Test
  void aPolicyThatIsNamedNoMoreIsAskedNoMoreAndTheRatioDecides() {
    AskPolicy old = serve(autoscaled(MODEL, 1, OWN));
    world.serve("app", autoscaled(MODEL, 1, FAST));
    int asks = asks();
    answer(old, 9, null);
    world.advance(Duration.ofMinutes(1));
    assertThat(asks()).isEqualTo(asks);
    assertThat(world.wanted(MODEL)).isEqualTo(1);

    world.send(new ControllerEvent.Withdrawn("app"));
    world.finish();
    answer(old, 9, null);
    assertThat(world.controller.nextWakeNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void whatAnOperatorSetHoldsWhateverItSays() {
    answer(serve(autoscaled(MODEL, 1, OWN)), 2, null);
    world.pause(7, true);
    for (int i = 0; i < 25; i++) {
      world.advance(Duration.ofSeconds(1));
      answer(asked(), 9, i);
    }
    assertThat(world.wanted(MODEL)).isEqualTo(7);

    world.pause(7, false);
    world.advance(Duration.ofSeconds(1));
    assertThat(world.wanted(MODEL)).isEqualTo(9);
    assertThat(remembered()).isEqualTo(24);
  }

  @Test
  void whatItRemembersIsKeptWithTheNumberAndAloneAtMostEachTenSeconds() {
    answer(serve(autoscaled(MODEL, 1, OWN)), 3, 1);
    assertThat(world.asked(Rescale.class).get(0).now())
        .isEqualTo(new AutoscaledReplicaCount(3, false, "{\"com.acme.Pace\":{\"n\":1}}"));
    int writes = world.asked(Rescale.class).size();
    for (int i = 2; i < 27; i++) {
      world.advance(Duration.ofSeconds(1));
      assertThat(remembered()).isEqualTo(i - 1);
      answer(asked(), 3, i);
    }
    assertThat(world.asked(Rescale.class)).hasSize(writes + 2);
    assertThat(world.asked(Rescale.class)).last().returns(null, Rescale::decision);
  }

  @Test
  void aFailureAndAnotherClassLeaveWhatItRemembers() {
    answer(serve(autoscaled(MODEL, 1, OWN)), 3, 1);
    world.send(answered(asked(), Map.of(MODEL, PolicyReply.ofFailure("it threw"))));
    Decided told = world.asked(Decided.class).get(world.asked(Decided.class).size() - 1);
    assertThat(told.policyFailures()).isEqualTo(1);
    assertThat(told.policy().tookNanos()).isEqualTo(7);
    assertThat(world.wanted(MODEL)).isEqualTo(3);
    world.advance(Duration.ofSeconds(1));
    assertThat(remembered()).isEqualTo(1);

    serve(autoscaled(MODEL, 1, OWN.replace("Pace", "Another")));
    assertThat(remembered()).isEqualTo("nothing");
  }

  @Test
  void aControllerThatFollowsHandsBackWhatWasKept() {
    serve(autoscaled(MODEL, 1, OWN));
    world.restart();
    world.declareKept(4, "{\"com.acme.Pace\":{\"n\":5}}");
    world.tellInventory();
    world.advance(Duration.ofSeconds(1));
    assertThat(asked().epoch().term()).isEqualTo(2);
    assertThat(remembered()).isEqualTo(5);
    assertThat(world.wanted(MODEL)).isEqualTo(4);
  }

  @Test
  void onePolicyOfAnApplicationIsAskedForAllTogetherAndMayLeaveSomeOut() {
    DeploymentId last = new DeploymentId("app", "last");
    String file =
        "applications: [{import_path: a.B, autoscaling_policy: {policy_function: com.acme.All}}]";
    Settings policy =
        Yaml.read(file).applications().get(0).settings().get(ApplicationConfig.AUTOSCALING_POLICY);
    DeploymentTarget[] targets = {
      autoscaled(MODEL, 1, OWN), autoscaled(OTHER, 1, FAST), autoscaled(last, 1, FAST)
    };
    world.serve("app", targets);
    world.code.put("app", new BuiltApplication("b1", "model", List.of(targets), policy, null));
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
    assertThat(Stream.of(MODEL, OTHER, last).map(world::wanted)).containsExactly(2, 5, 1);
    assertThat(world.asked(Rescale.class))
        .extracting(Rescale::deployment)
        .containsOnly(MODEL, OTHER);
  }
}
