package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.it.app.Smooth;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A deployment whose number follows its load does so in a user's unit test, on its clock. */
class AutoscalingInATestTest {
  @AutoClose private TestBerth berth;
  private static final String WRONG =
      "constructor exception error nan huge negative large branching cyclic object infinite null";
  private static final String CONFIG = "autoscaling_config";
  private static final Map<String, Object> SOON =
      Map.of("min_replicas", 0, "max_replicas", 8, "upscale_delay_s", 0, "downscale_delay_s", 0);

  /** As many as there were asks, which it remembers. */
  public static final class Counting implements AutoscalingPolicy {
    private final long step;

    public Counting(Map<String, @Nullable Object> kwargs) {
      step = ((Number) kwargs.getOrDefault("step", 1)).longValue();
    }

    @Override
    public Answer decide(Context context) {
      long asks = 1 + (Integer) context.state().getOrDefault("asks", 0);
      return new Answer(asks * step, Map.of("asks", asks));
    }
  }

  /** What is wrong with it, its argument says. */
  public static final class Wrong implements AutoscalingPolicy {
    private final String how;

    public Wrong(Map<String, @Nullable Object> kwargs) {
      how = String.valueOf(kwargs.get("how"));
      if (how.equals("constructor")) {
        throw new IllegalStateException("it is not to be");
      }
    }

    @Override
    public Answer decide(Context context) {
      List<Object> cyclic = new ArrayList<>();
      cyclic.add(cyclic);
      Stream<Object> deeper = Stream.iterate(1, each -> Collections.nCopies(8, each));
      return switch (how) {
        case "exception" -> throw new IllegalStateException("x".repeat(1_000));
        case "error" -> throw new StackOverflowError();
        case "nan" -> Answer.of(Double.NaN);
        case "huge" -> Answer.of(1e308);
        case "negative" -> Answer.of(-1);
        case "large" -> remembering("x".repeat(10_000_000));
        case "branching" -> remembering(deeper.skip(30).findFirst().get()); // 8^30 of them
        case "cyclic" -> remembering(cyclic);
        case "object" -> remembering(new Object());
        case "infinite" -> remembering(Double.POSITIVE_INFINITY);
        default -> null;
      };
    }

    private static Answer remembering(Object what) {
      return new Answer(5, Map.of("a", what));
    }
  }

  /** As many as the deepest replica says. */
  public static final class Deepest implements AutoscalingPolicy {
    @Override
    public Answer decide(Context context) {
      return Answer.of(
          context.stats().values().stream()
              .mapToDouble(told -> told.get("depth"))
              .max()
              .orElse(context.target()));
    }
  }

  /** Tells what the test wants. */
  private static final class Telling implements AsyncHandler {
    private final Callable<Future<Map<String, Integer>>> depth;

    Telling(Callable<Future<Map<String, Integer>>> depth) {
      this.depth = depth;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      return Apps.text(request.path());
    }

    @Override
    public Future<Map<String, Integer>> recordAutoscalingStats() throws Exception {
      return depth.call();
    }
  }

  private static TestBerthBuilder telling(Callable<Future<Map<String, Integer>>> depth) {
    Map<String, Object> config = new HashMap<>(SOON);
    config.put("min_replicas", 1);
    config.put("look_back_period_s", 5);
    config.put("policy", policy(Deepest.class, Map.of()));
    return TestBerth.of(Application.of(Deployment.of("one", replica -> new Telling(depth))))
        .set("one", CONFIG, config);
  }

  private static Map<String, Object> policy(Class<?> policy, Map<String, Object> kwargs) {
    return Map.of("policy_function", policy.getName(), "policy_kwargs", kwargs);
  }

  private static TestBerthBuilder with(Class<?> policy, Map<String, Object> kwargs) {
    Map<String, Object> config = new HashMap<>(SOON);
    config.put("min_replicas", 1);
    config.put("policy", policy(policy, kwargs));
    return TestBerth.of(Apps.echo()).set("one", CONFIG, config);
  }

  private static int replicas(TestBerth berth) {
    return berth.replicas("one").size();
  }

  @Test
  void theFirstRequestStartsTheFirstReplicaAndNoTimePasses() {
    Application calling =
        Application.of(
            Deployment.async("front", (request, context) -> context.handle("back").call(request)),
            Deployment.async("back", (request, context) -> Apps.text("back")));
    berth = TestBerth.of(calling).set("front", CONFIG, SOON).set("back", CONFIG, SOON).start();
    assertThat(berth.replicas("front")).isEmpty();
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("back");
    assertThat(berth.elapsed()).isZero();

    berth.advance(Duration.ofSeconds(40)); // the request is in the window for 30 s
    assertThat(berth.replicas("front")).isEmpty();
    assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("back");
  }

  @Test
  void loadStartsReplicasAndItsEndStopsThem() {
    berth = TestBerth.of(Apps.slow(Duration.ofSeconds(60))).set("one", CONFIG, SOON).start();
    List<Future<Response>> calls = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      calls.add(berth.handle("one").call(Request.get("/")));
    }
    berth.advance(Duration.ofSeconds(50));
    assertThat(replicas(berth)).isEqualTo(6);
    berth.advance(Duration.ofSeconds(60));
    assertThat(calls).allMatch(Future::succeeded);
    assertThat(replicas(berth)).isZero();
  }

  @Test
  void aPolicyIsAskedOnceASecondAndRemembers() {
    berth = with(Counting.class, Map.of("step", 2)).start();
    berth.advance(Duration.ofMillis(900));
    assertThat(replicas(berth)).isEqualTo(1);
    berth.advance(Duration.ofMillis(200));
    assertThat(replicas(berth)).isEqualTo(2);
    berth.advance(Duration.ofMillis(1_050));
    assertThat(replicas(berth)).isEqualTo(4);
    berth.advance(Duration.ofSeconds(9));
    assertThat(replicas(berth)).isEqualTo(8); // the bound
  }

  @Test
  void factorsAndDelaysApplyToWhatAPolicyWants() {
    Map<String, Object> config =
        Map.of(
            "min_replicas",
            1,
            "max_replicas",
            40,
            "upscale_delay_s",
            5.5, // it ends between two answers
            "upscaling_factor",
            0.5,
            "policy",
            policy(Counting.class, Map.of("step", 3)));
    berth = TestBerth.of(Apps.echo()).set("one", CONFIG, config).start();
    berth.advance(Duration.ofMillis(6_300));
    assertThat(replicas(berth)).isEqualTo(1);
    berth.advance(Duration.ofMillis(400));
    assertThat(replicas(berth)).isEqualTo(10); // half of what is missing at 18
  }

  @Test
  void whatHandlersTellOfThemselvesIsShownToThePolicy() {
    AtomicInteger depth = new AtomicInteger(1);
    berth = telling(() -> Future.succeededFuture(Map.of("depth", depth.get()))).start();
    berth.advance(Duration.ofSeconds(10));
    assertThat(replicas(berth)).isEqualTo(1);
    depth.set(6);
    berth.advance(Duration.ofSeconds(10));
    assertThat(replicas(berth)).isEqualTo(6);
    depth.set(2);
    berth.advance(Duration.ofSeconds(10));
    assertThat(replicas(berth)).isEqualTo(2);
  }

  @Test
  void aHookThatThrowsOrTellsNonsenseChangesNothingAndHarmsNobody() {
    List<Callable<Future<Map<String, Integer>>>> wrong =
        List.of(
            () -> {
              throw new IllegalStateException("no figures");
            },
            () -> Future.failedFuture("no figures"),
            () -> null,
            () -> Future.succeededFuture(Map.of("", 8)));
    for (Callable<Future<Map<String, Integer>>> each : wrong) {
      AtomicBoolean well = new AtomicBoolean(true);
      try (TestBerth berth =
          telling(() -> well.get() ? Future.succeededFuture(Map.of("depth", 3)) : each.call())
              .start()) {
        berth.advance(Duration.ofSeconds(3));
        assertThat(replicas(berth)).isEqualTo(3);
        well.set(false);
        berth.advance(Duration.ofSeconds(12));
        assertThat(replicas(berth)).isEqualTo(3);
        assertThat(berth.text(berth.call(Request.get("/it")))).isEqualTo("/it");
      }
    }
  }

  @Test
  void aPolicyIsAFunctionOfWhatItIsShown() {
    AutoscalingPolicy smooth = new Smooth(Map.of("weight", 0.5));
    AutoscalingPolicy.Context now =
        new AutoscalingPolicy.Context(
            new DeploymentId("shop", "infer"),
            2, // running
            2, // wanted now
            1, // at least
            10, // at most
            4, // requests for each
            8, // of late
            8, // now
            Map.of(),
            Map.of("mean", 24.0));
    AutoscalingPolicy.Answer answer = smooth.decide(now);
    assertThat(answer.replicas()).isEqualTo(4);
    assertThat(answer.state()).containsEntry("mean", 16.0);
  }

  @Test
  void whatIsWrongWithAPolicyChangesNothingAndHarmsNobody() {
    for (String how : WRONG.split(" ")) {
      try (TestBerth berth = with(Wrong.class, Map.of("how", how)).start()) {
        berth.advance(Duration.ofSeconds(2));
        assertThat(replicas(berth)).as(how).isEqualTo(1);
        assertThat(berth.text(berth.call(Request.get("/it")))).isEqualTo("/it");
      }
    }
  }

  @Test
  void aPolicyThatIsNoneIsToldAtTheStart() {
    assertThatThrownBy(() -> with(String.class, Map.of()).start())
        .hasMessageContaining("java.lang.String: no AutoscalingPolicy");
  }
}
