package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Hooks of handlers, by the clock of the test. */
class HooksInATestTest {
  @AutoClose private TestBerth berth;
  private final List<String> calls = new CopyOnWriteArrayList<>();
  private final Set<String> sick = ConcurrentHashMap.newKeySet(); // replicas
  private final CountDownLatch hang = new CountDownLatch(1);
  private volatile boolean hanging;

  private final class Watched implements AsyncHandler {
    private final String replicaId;

    Watched(String replicaId) {
      this.replicaId = replicaId;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      return Apps.text(replicaId);
    }

    @Override
    public void start() {
      calls.add("start");
      if (sick.contains("at start")) {
        throw new IllegalStateException("no model");
      }
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      calls.add("reconfigure " + userConfig);
      if (userConfig.containsKey("bird")) {
        throw new IllegalArgumentException("bird: no fish");
      }
    }

    @Override
    public void checkHealth() throws InterruptedException {
      calls.add("check");
      if (hanging) {
        hang.await();
      }
      if (sick.contains(replicaId)) {
        throw new IllegalStateException("sick");
      }
    }

    @Override
    public void stop() {
      calls.add("stop");
    }
  }

  private Application application(int replicas) {
    return Application.of(
        Deployment.of("one", replica -> new Watched(replica.replicaId()))
            .withNumReplicas(replicas)
            .withUserConfig(Map.of("fish", 1)));
  }

  @Test
  void aReplicaIsStartedConfiguredCheckedAndStopped() {
    try (TestBerth berth = TestBerth.start(application(1))) {
      assertThat(calls).containsExactly("start", "reconfigure {fish=1}", "check");
      assertThat(berth.text(berth.call(Request.get("/")))).isEqualTo("default#one#1");
    }
    assertThat(calls).hasSize(4).endsWith("stop");
  }

  @Test
  void aHookThatFailsKeepsTheReplicaFromStarting() {
    sick.add("at start");
    assertThatThrownBy(() -> TestBerth.start(application(1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no model");
  }

  @Test
  void everyReplicaIsGivenAnotherConfiguration() {
    berth = TestBerth.start(application(2));
    calls.clear();
    berth.reconfigure("one", Map.of("fish", 2));
    assertThat(calls).containsExactly("reconfigure {fish=2}", "reconfigure {fish=2}");
    assertThatThrownBy(() -> berth.reconfigure("one", Map.of("bird", 1)))
        .hasMessage("bird: no fish");
  }

  @Test
  void healthIsCheckedByTheClock() {
    berth = TestBerth.of(application(1)).set("one", "health_check_period_s", 10).start();
    calls.clear();
    berth.advance(Duration.ofSeconds(8));
    assertThat(calls).isEmpty();
    berth.advance(Duration.ofSeconds(4)); // the period is shifted by up to a tenth
    assertThat(calls).containsExactly("check");
  }

  @Test
  void aSickReplicaGetsNoMoreRequestsUntilItIsWell() {
    berth = TestBerth.of(application(2)).set("one", "health_check_period_s", 10).start();
    sick.add("default#one#1");
    berth.advance(Duration.ofSeconds(40));
    assertThat(berth.replicas("one"))
        .extracting(TestReplica::state)
        .containsExactly("UNHEALTHY", "RUNNING");
    assertThat(answers(berth)).containsOnly("default#one#2");
    sick.clear();
    berth.advance(Duration.ofSeconds(12));
    assertThat(answers(berth)).containsOnly("default#one#1", "default#one#2");
  }

  @Test
  void aSickReplicaIsReplacedWhenTheTestAsks() {
    berth = TestBerth.of(application(2)).set("one", "health_check_period_s", 10).start();
    sick.add("default#one#1");
    berth.advance(Duration.ofSeconds(40));
    berth.replaceReplicas();
    assertThat(answers(berth)).containsOnly("default#one#2", "default#one#3");
    assertThat(berth.replicas("one"))
        .extracting(TestReplica::state)
        .containsExactly("RUNNING", "RUNNING");
  }

  private static List<String> answers(TestBerth berth) {
    return java.util.stream.IntStream.range(0, 20)
        .mapToObj(i -> berth.text(berth.call(Request.get("/"))))
        .toList();
  }

  @Test
  void aHangingCheckCostsThePatienceOfTheTestOnceAndFailsByTheClock() {
    berth =
        TestBerth.of(application(1))
            .set("one", "health_check_period_s", 10)
            .set("one", "health_check_timeout_s", 5)
            .patience(Duration.ofMillis(300))
            .start();
    hanging = true;
    berth.advance(Duration.ofSeconds(12));
    assertThat(berth.unsettled())
        .singleElement()
        .satisfies(line -> assertThat(line).startsWith("health check at " + getClass().getName()));
    // A busy machine may start the thread of a check after the patience: its timeout begins then.
    for (int turns = 0; turns < 10 && !state().equals("UNHEALTHY"); turns++) {
      berth.advance(Duration.ofSeconds(30));
    }
    assertThat(state()).isEqualTo("UNHEALTHY");
    hanging = false;
    hang.countDown();
    berth.assertAtRest(); // waits for the check that hung
    berth.advance(Duration.ofSeconds(12));
    berth.assertAtRest();
    assertThat(state()).isEqualTo("RUNNING");
  }

  private String state() {
    return berth.replicas("one").get(0).state();
  }
}
