package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Built;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.Epoch;
import dev.berth.controller.PolicySource;
import dev.berth.controller.autoscaling.PolicyAnswer;
import dev.berth.controller.autoscaling.PolicyReply;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.node.TestApplications;
import dev.berth.replica.hooks.HookThreads;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Policies are asked where the test lets hooks run. */
class PoliciesTest {
  private static final Epoch EPOCH = new Epoch(0, 1, "n1");

  private final Deque<Runnable> hooks = new ArrayDeque<>();
  private final QueueExecutor control = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private String build = "";
  private boolean stopping;
  private long now; // each look at the clock takes 5 ns
  private final HookThreads threads =
      (application, kind, task) -> {
        if (stopping) {
          throw new RejectedExecutionException("the instance stops");
        }
        hooks.add(task);
        return () -> {};
      };
  private final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(Runnable::run),
          control,
          (application, revision) -> source("Pace"),
          told::add,
          gone -> this.policies().onBuildClosed(gone));
  private final PolicyInvoker policies =
      new PolicyInvoker(threads, control, builds, told::add, () -> now += 5);

  /** Wants what its first argument says, and counts. */
  public static final class Pace implements AutoscalingPolicy {
    static int made;
    private final Map<String, @Nullable Object> arguments;
    private long asks;

    public Pace(Map<String, @Nullable Object> arguments) {
      this.arguments = arguments;
      made++;
    }

    @Override
    public Answer decide(Context context) {
      asks++;
      Map<String, @Nullable Object> state = new LinkedHashMap<>(context.state());
      state.put("asks", asks);
      state.put("none", null);
      return new Answer(((Number) arguments.get("want")).doubleValue(), state);
    }
  }

  /** Waits until it is interrupted. */
  public static final class Hung implements AutoscalingPolicy {
    static volatile CountDownLatch entered = new CountDownLatch(1);

    @Override
    public Answer decide(Context context) {
      entered.countDown();
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException over) {
        throw new IllegalStateException(over);
      }
      return Answer.of(1);
    }
  }

  /** Speaks of the first alone, and badly of the second. */
  public static final class OfAll implements AutoscalingPolicy {
    @Override
    public Answer decide(Context context) {
      throw new AssertionError("it decides for all together");
    }

    @Override
    public Map<DeploymentId, Answer> decideAll(Map<DeploymentId, Context> contexts) {
      return Map.of(id("first"), Answer.of(contexts.size()), id("second"), Answer.of(-1));
    }
  }

  @BeforeEach
  void built() {
    Pace.made = 0;
    builds.build(new Build(EPOCH, "a", 1));
    control.runAll();
    build = ((Built) told.get(0)).built().build();
  }

  private PolicyInvoker policies() {
    return policies;
  }

  private static DeploymentId id(String deployment) {
    return new DeploymentId("a", deployment);
  }

  private static BuildCache.BuildInputs source(String policy) {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "applications: [{name: a, import_path: '%s:plain', autoscaling_policy: {policy_function:"
                    .formatted(TestApplications.class.getName())
                + " dev.berth.code.PoliciesTest$"
                + policy
                + (policy.equals("Pace") ? ", policy_kwargs: {want: 3}" : "")
                + "}, deployments: [{name: front, autoscaling_config: {max_replicas: 9}}]}]");
    return new BuildCache.BuildInputs(file.applications().get(0), file);
  }

  private AskPolicy ask(long term, String policy, Map<String, @Nullable Object> state) {
    ApplicationConfig config = source(policy).config();
    List<Context> contexts =
        Stream.of("first", "second", "third")
            .map(name -> new Context(id(name), 1, 1, 1, 9, 2, 0, 0, Map.of(), state))
            .toList();
    Settings ofAll = config.settings().get(ApplicationConfig.AUTOSCALING_POLICY);
    PolicySource source = new PolicySource(new PolicySource.PolicyScope("a", null), build, ofAll);
    AskPolicy ask = new AskPolicy(new Epoch(0, term, "n1"), source, contexts);
    policies.invoke(ask);
    control.runAll();
    return ask;
  }

  private Thread hang() throws InterruptedException {
    Hung.entered = new CountDownLatch(1);
    ask(1, "Hung", Map.of());
    Thread thread = new Thread(hooks.remove());
    thread.start();
    Hung.entered.await();
    told.clear();
    return thread;
  }

  private void runHook() {
    hooks.remove().run();
    control.runAll();
  }

  private Map<DeploymentId, PolicyReply> last() {
    return ((PolicyAnswered) told.get(told.size() - 1)).replies();
  }

  private @Nullable String failure() {
    return last().get(id("first")).answer().failure();
  }

  @Test
  void itIsMadeOnceAndShownItsState() {
    ask(1, "Pace", Map.of());
    runHook();
    String state = last().get(id("first")).state();
    assertThat(state)
        .isEqualTo("{\"dev.berth.code.PoliciesTest$Pace\":{\"asks\":1,\"none\":null}}");
    assertThat(last().get(id("third")).answer().replicas()).isEqualTo(3.0);
    assertThat(((PolicyAnswered) told.get(told.size() - 1)).tookNanos())
        .as("from its begin to its end, without the wait for a thread")
        .isEqualTo(5);

    ask(2, "Pace", Map.of("old", List.of(1.5, true)));
    runHook();
    assertThat(last().get(id("first")).state()).contains("\"asks\":4", "\"old\":[1.5,true]");
    assertThat(Pace.made).isEqualTo(1);
  }

  @Test
  void whatOnePolicySaysOfSomeHoldsForThem() {
    ask(1, "OfAll", Map.of());
    runHook();
    assertThat(last().get(id("third")).answer()).isEqualTo(PolicyAnswer.NOTHING);
    assertThat(last().get(id("first")).answer().replicas()).isEqualTo(3.0);
    assertThat(last().get(id("second")).answer().failure()).startsWith("replicas: -1.0 (expected:");
  }

  @Test
  void oneThatHangsIsInterruptedAfterTenSecondsAndHasOneThreadTillThen() throws Exception {
    Thread thread = hang();
    for (int i = 0; i < 9; i++) {
      ask(1, "Hung", Map.of());
    }
    assertThat(told).isEmpty();
    assertThat(thread.isInterrupted()).isFalse();
    ask(2, "Hung", Map.of()); // another controller's counts too
    assertThat(failure()).isEqualTo("TimeoutException: no result within 10 s");
    assertThat(hooks).isEmpty();

    thread.join();
    control.runAll();
    assertThat(told).hasSize(1); // its late end says nothing
    ask(2, "Hung", Map.of());
    assertThat(hooks).hasSize(1);
  }

  @Test
  void oneThatHangsIsInterruptedWhenItsDeploymentGoesOrAnotherTakesItsPlace() throws Exception {
    Thread thread = hang();
    policies.interrupt(new DeploymentId("another", "first"));
    assertThat(thread.isInterrupted()).isFalse();
    policies.interrupt(id("first"));
    thread.join();
    control.runAll();

    thread = hang();
    ask(1, "Pace", Map.of());
    thread.join();
    runHook();
    assertThat(last().get(id("first")).answer().replicas()).isEqualTo(3.0);
  }

  @Test
  void withoutAThreadItHasFailedAndIsAskedAgain() {
    stopping = true;
    ask(1, "Pace", Map.of());
    assertThat(failure()).isEqualTo("RejectedExecutionException: the instance stops");
    stopping = false;
    ask(1, "Pace", Map.of());
    runHook();
    assertThat(failure()).isNull();
  }

  @Test
  void codeThatAPolicyRunsGoesWhenThatHasEnded() {
    ask(1, "Pace", Map.of());
    builds.discard(new DiscardBuild(EPOCH, "a", build));
    assertThat(builds.names()).hasSize(1);
    runHook();
    assertThat(builds.names()).isEmpty();

    ask(1, "Pace", Map.of());
    assertThat(hooks).isEmpty();
  }
}
