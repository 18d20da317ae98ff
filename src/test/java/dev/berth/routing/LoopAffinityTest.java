package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.handle.RoutedHandle;
import dev.berth.routing.slots.InstanceBounds;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Whatever loop frees a slot, who waited goes on on the loop it waits on. */
class LoopAffinityTest {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final int LOOPS = 3;

  private final ManualClock clock = new ManualClock();
  private final SlotLedger ledger =
      new SlotLedger(1, 1, LedgerLimits.DEFAULTS, clock, new SplittableRandom(1)::nextLong);
  private final List<ArrayDeque<Runnable>> tasks = new ArrayList<>();
  private final List<Integer> sendersLoops = new ArrayList<>();
  private int current = -1; // the loop whose task runs, or none

  private final Routers routers;

  LoopAffinityTest() {
    List<LoopPorts> ports = new ArrayList<>();
    for (int index = 0; index < LOOPS; index++) {
      int loop = index;
      ArrayDeque<Runnable> queue = new ArrayDeque<>();
      tasks.add(queue);
      ports.add(
          new LoopPorts(
              queue::add,
              () -> current == loop,
              (node, address, message) -> {
                assertThat(message).isInstanceOf(BusMessage.CallRequest.class);
                assertThat(((BusMessage.CallRequest) message).source().loop()).isEqualTo(current);
                return sendersLoops.add(current);
              },
              clock,
              new SplittableRandom(loop)));
    }
    ReplicaDirectory directory =
        new ReplicaDirectory() {
          @Override
          public Slots slotsOf(ReplicaAddress address) {
            return ledger;
          }

          @Override
          public void observe(ReplicaAddress address, SlotObserver observer) {
            ledger.observe(observer);
          }
        };
    routers =
        new Routers(
            "here",
            7,
            null,
            directory,
            InstanceBounds.defaults(),
            LoopLimits.DEFAULTS,
            new SplittableRandom(2),
            ports);
    routers.router(DEPLOYMENT, RouterSettings.DEFAULTS);
    ReplicaInfo replica =
        new ReplicaInfo(
            "r1",
            DEPLOYMENT,
            new ReplicaAddress("here", 0, 0, 1),
            1,
            true,
            false,
            null,
            OptionalInt.empty(),
            null,
            Map.of());
    routers.update(
        new RoutingSnapshot(
            DEPLOYMENT,
            new RoutingSnapshot.Version(1, 1),
            true,
            List.of(new RoutingSnapshot.Route(replica, true))));
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
        RoutedHandle.of(routers, DEPLOYMENT, RouterSettings.DEFAULTS, loop)
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
    assertThat(ledger.observer().completing(ledger)).isTrue();
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
        RoutedHandle.of(routers, DEPLOYMENT, RouterSettings.DEFAULTS, 1).call(Request.get("/"));
    assertThat(sendersLoops).as("nothing on the caller's thread").isEmpty();
    run(1);
    assertThat(sendersLoops).containsExactly(1);
    assertThat(response.isComplete()).isFalse();
  }
}
