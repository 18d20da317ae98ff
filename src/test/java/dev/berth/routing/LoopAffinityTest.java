package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.SendResult;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.handle.RoutedHandle;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever loop frees a slot, who waited goes on on the loop it waits on. */
class LoopAffinityTest {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final int LOOPS = 3;

  private final ManualClock clock = new ManualClock();
  private final SlotLedger ledger = Ledgers.ledger(1, clock);
  private final List<ArrayDeque<Runnable>> tasks = new ArrayList<>();
  private final List<Integer> sendersLoops = new ArrayList<>();
  private int current = -1; // the loop whose task runs, or none

  private final Routers routers;

  LoopAffinityTest() {
    PlaneBuilder plane =
        new PlaneBuilder(
            "here",
            clock,
            (node, address, message) -> {
              assertThat(message).isInstanceOf(BusMessage.CallRequest.class);
              assertThat(((BusMessage.CallRequest) message).source().loop()).isEqualTo(current);
              sendersLoops.add(current);
              return SendResult.SENT;
            });
    for (int index = 0; index < LOOPS; index++) {
      int loop = index;
      tasks.add(new ArrayDeque<>());
      plane.loop(tasks.get(loop)::add, () -> current == loop);
    }
    routers = plane.routers(Replicas.directory(List.of(ledger)));
    routers.router(DEPLOYMENT, RoutingProbe.DEFAULTS);
    routers.update(
        Replicas.snapshot(
            DEPLOYMENT, Replicas.info("r1", DEPLOYMENT, new ReplicaAddress("here", 0, 0, 1), 1)));
  }

  private void run(int loop) {
    current = loop;
    for (Runnable task = tasks.get(loop).poll(); task != null; task = tasks.get(loop).poll()) {
      task.run();
    }
    current = -1;
  }

  private Future<Response> call(int loop) {
    Future<Response> response =
        RoutedHandle.of(routers, DEPLOYMENT, RoutingProbe.DEFAULTS, loop)
            .call(Request.get("/" + loop));
    run(loop);
    return response;
  }

  @Test
  void aSlotFreedOnOneLoopIsTakenOnTheLoopThatWaits() {
    call(0);
    call(2);
    assertThat(sendersLoops).containsExactly(0);
    current = 1; // where the handler settles
    assertThat(ledger.observer().completing(ledger, 1)).isTrue();
    current = -1;
    assertThat(tasks.get(0)).isEmpty();
    assertThat(tasks.get(1)).isEmpty();
    assertThat(tasks.get(2)).as("one task, on the loop that waits").hasSize(1);
    run(2);
    assertThat(sendersLoops).containsExactly(0, 2);
  }

  @Test
  void aCallFromAnotherThreadHopsToItsHandlesLoop() {
    Future<Response> response =
        RoutedHandle.of(routers, DEPLOYMENT, RoutingProbe.DEFAULTS, 1).call(Request.get("/"));
    assertThat(sendersLoops).as("nothing on the caller's thread").isEmpty();
    run(1);
    assertThat(sendersLoops).containsExactly(1);
    assertThat(response.isComplete()).isFalse();
  }
}
