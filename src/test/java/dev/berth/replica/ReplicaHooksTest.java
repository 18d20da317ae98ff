package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.HandlerFactory;
import dev.berth.fakes.Answering;
import dev.berth.fakes.Replicas;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A replica's hooks: their order, their failures, its health. */
class ReplicaHooksTest {
  private static final Duration PERIOD = Duration.ofSeconds(11); // the default, and a tenth more

  private final ReplicaRig rig = new ReplicaRig();
  private final List<String> calls = new ArrayList<>();

  /** Writes down what it is told; fails in the hooks that it is told to. */
  private final class Hooked extends Answering {
    private final String name;
    private String failing = "";

    Hooked(String name) {
      super("ok");
      this.name = name;
    }

    private void called(String hook) {
      calls.add(name + hook);
      if (failing.equals(hook)) {
        throw new IllegalStateException(hook + " fails");
      }
    }

    @Override
    public void start() {
      called("start");
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      called("reconfigure" + userConfig);
    }

    @Override
    public void checkHealth() {
      called("check");
    }

    @Override
    public void stop() {
      called("stop");
    }
  }

  private static HandlerFactory factory(AsyncHandler handler) {
    return context -> handler;
  }

  @Test
  void theHooksRunInTheirOrderBeforeTheReplicaRuns() {
    Future<Replica> begun = rig.begin(1, factory(new Hooked("")), 1);
    assertThat(calls).isEmpty();
    rig.offLoop.runAll();
    assertThat(calls).containsExactly("start", "reconfigure{k=v}", "check");
    assertThat(rig.states).isEmpty();
    rig.runAll();
    assertThat(rig.states).containsExactly(ReplicaState.RUNNING);
    assertThat(begun.succeeded()).isTrue();
  }

  @Test
  void aReplicaWithoutAUserConfigIsNotReconfigured() {
    rig.host
        .begin(
            Replicas.spec("app#echo#1", ReplicaRig.DEPLOYMENT, 1, 1, factory(new Hooked(""))),
            List.of(rig.seat(0)))
        .running();
    rig.runAll();
    assertThat(calls).containsExactly("start", "check");
  }

  @Test
  void aHookThatFailsFailsTheStartAndStopsWhatWasMade() {
    for (String hook : List.of("start", "reconfigure{k=v}", "check")) {
      calls.clear();
      Hooked handler = new Hooked("");
      handler.failing = hook;
      Future<Replica> begun = rig.settled(rig.begin(1, factory(handler), 1));
      assertThat(begun.cause()).hasMessage(hook + " fails");
      assertThat(calls).endsWith("stop");
      assertThat(rig.states).isEmpty();
      assertThat(rig.host.replicas()).isEmpty();
    }
  }

  @Test
  void eachHandlerOfASpreadReplicaIsToldAndNoneStartsAfterOneThatFailed() {
    ReplicaRig spread = new ReplicaRig(ReplicaLimits.DEFAULTS, 2);
    List<Hooked> made = new ArrayList<>();
    HandlerFactory factory =
        context -> {
          Hooked handler = new Hooked("h" + made.size() + " ");
          handler.failing = made.isEmpty() ? "start" : "stop";
          made.add(handler);
          return handler;
        };
    Future<Replica> begun = spread.begin(1, factory, 2);
    spread.runAll();
    assertThat(calls).containsExactly("h0 start", "h0 stop", "h1 stop");
    assertThat(begun.cause()).hasMessage("start fails");
    assertThat(begun.cause().getSuppressed()).hasSize(1);
  }

  @Test
  void stopHookThatThrowsKeepsNoOtherHandlerFromBeingStopped() {
    ReplicaRig spread = new ReplicaRig(ReplicaLimits.DEFAULTS, 3);
    HandlerFactory factory =
        context -> {
          Hooked handler = new Hooked("");
          handler.failing = "stop";
          return handler;
        };
    Replica replica = spread.start(1, factory, 3);
    calls.clear();

    Future<Void> stopped = spread.settled(replica.shutDown(Duration.ZERO));

    assertThat(calls).containsExactly("stop", "stop", "stop");
    assertThat(stopped.succeeded()).isTrue();
  }

  @Test
  void aCheckComesOncePerPeriodAndOneAtATime() {
    rig.start(1, new Hooked(""));
    calls.clear();
    rig.passLooking(PERIOD);
    assertThat(rig.health.size()).isEqualTo(1);
    rig.passLooking(PERIOD);
    assertThat(rig.health.size()).as("while one waits, no other joins it").isEqualTo(1);
    rig.health.runAll();
    rig.passLooking(PERIOD);
    rig.health.runAll();
    assertThat(calls).containsExactly("check", "check");
  }

  @Test
  void threeFailedChecksMakeItUnhealthyAndASuccessHealthyAgain() {
    Hooked handler = new Hooked("");
    Replica replica = rig.busy(1, handler, ReplicaRig.callId(1, 1));
    handler.failing = "check";
    checks(2);
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    checks(1);
    assertThat(replica.state()).isEqualTo(ReplicaState.UNHEALTHY);
    assertThat(replica.healthy()).isFalse();
    assertThat(replica.healthCheckFailures()).isEqualTo(3);

    handler.failing = "";
    checks(1);

    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    assertThat(rig.states)
        .containsExactly(ReplicaState.RUNNING, ReplicaState.UNHEALTHY, ReplicaState.RUNNING);
  }

  @Test
  void aReplicaThatDrainsIsCheckedNoMore() {
    Replica replica = rig.start(1, new Hooked(""));
    assertThat(replica.slots().tryAcquire()).isTrue();
    calls.clear();
    replica.shutDown(Duration.ofMinutes(5));
    checks(3);
    assertThat(calls).isEmpty();
  }

  @Test
  void aCheckThatHangsIsInterruptedAndMakesItUnhealthyIfItHeedsNothing() throws Exception {
    Hang hang = new Hang();
    boolean[] hangs = {false};
    AsyncHandler handler =
        new Answering("ok") {
          @Override
          public void checkHealth() throws InterruptedException {
            if (hangs[0]) {
              hang.here(false);
            }
          }
        };
    Replica replica = rig.start(1, handler);
    hangs[0] = true;
    rig.passLooking(PERIOD);
    Thread checking = new Thread(rig.health::runAll);
    checking.start();
    hang.awaitBegun();

    rig.passLooking(Duration.ofSeconds(31));
    hang.awaitInterrupted();
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
    rig.passLooking(Duration.ofSeconds(20));
    assertThat(replica.state()).isEqualTo(ReplicaState.UNHEALTHY);
    assertThat(rig.health.size()).as("no other was piled on it").isZero();

    hangs[0] = false;
    hang.end();
    checking.join();
    checks(1);
    assertThat(replica.state()).isEqualTo(ReplicaState.RUNNING);
  }

  private void checks(int times) {
    for (int i = 0; i < times; i++) {
      rig.passLooking(PERIOD);
      rig.health.runAll();
      rig.runAll();
    }
  }
}
