package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.junit5.VertxExtension;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The shell: which messages it takes, from whom, and when it wakes. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class ControllerVerticleTest {
  private static final DeploymentId MODEL = new DeploymentId("app", "model");
  private static final PullRouting PULL = new PullRouting("n1", 1, true, List.of());

  private final DrivenController driven = new DrivenController();
  private final AtomicLong clock = new AtomicLong();
  private final BlockingQueue<ControllerAction> actions = new LinkedBlockingQueue<>();
  private final BlockingQueue<BusMessage> ofRouters = new LinkedBlockingQueue<>();
  private final ControllerVerticle verticle =
      new ControllerVerticle(
          driven.controller, clock::get, actions::add, this::ofRouters, broken -> {});
  private Vertx vertx;
  private volatile Context loop;

  @BeforeEach
  void deploy(Vertx made) throws Exception {
    vertx = made;
    vertx.eventBus().registerCodec(new BusMessageCodec());
    vertx.deployVerticle(verticle).await();
    ask(PULL);
    assertThat(ofRouters.poll(10, TimeUnit.SECONDS)).isEqualTo(PULL);
  }

  private boolean ofRouters(BusMessage message) {
    loop = Vertx.currentContext();
    return message instanceof PullRouting && ofRouters.add(message);
  }

  private void onLoop(Runnable task) throws Exception {
    FutureTask<?> there = new FutureTask<>(task, null);
    loop.runOnContext(begun -> there.run());
    there.get(10, TimeUnit.SECONDS);
  }

  private Future<Message<Object>> ask(BusMessage message) {
    return vertx
        .eventBus()
        .request(
            BusAddresses.CONTROLLER,
            message,
            new DeliveryOptions().setCodecName(BusMessageCodec.NAME).setLocalOnly(true));
  }

  @Test
  void aBatchIsRecordedAndAnsweredByItsTermAStaleOneToo() throws Exception {
    HandleMetricBatch batch =
        new HandleMetricBatch("n1", 1, 1, List.of(), List.of(), List.of(), NodeFigures.NONE);
    assertThat(ask(batch).await().body()).isEqualTo(driven.controller.epochNumber());
    assertThat(ask(batch).await().body()).isEqualTo(driven.controller.epochNumber());
  }

  /**
   * Recovers until {@code 10 s} after {@code since}, and is told something that changes nothing.
   */
  private void recoverSince(long since) {
    driven.controller.recover(List.of(DrivenController.NODE), since);
    verticle.on(new ControllerEvent.ReplicaDraining("nobody's"));
  }

  @Test
  void whatIsDueSoonerThanWasSaidIsDoneThen() throws Exception {
    onLoop(
        () -> {
          recoverSince(0);
          driven.declare("app", DrivenController.target(MODEL, "v1", "", settings()));
          recoverSince(-ControllerRecovery.MAX_NANOS); // so it is over
        });
    assertThat(actions.poll(10, TimeUnit.SECONDS)).isInstanceOf(ControllerAction.class);
  }

  @Test
  void onceItHasStoppedItDecidesNothing() throws Exception {
    driven.declare("app", DrivenController.target(MODEL, "v1", "", settings()));
    vertx.undeploy(verticle.deploymentID()).await();
    onLoop(() -> verticle.on(new ControllerEvent.Withdrawn("app")));
    assertThat(actions).isEmpty();
  }

  private static Settings settings() {
    return DrivenController.settings("model", 1, DrivenController.surge(20));
  }

  @Test
  void whatRoutersSendIsPassedOnAndAnythingElseIsRefused() throws Exception {
    ask(PULL);
    assertThat(ofRouters.poll(10, TimeUnit.SECONDS)).isEqualTo(PULL);
    assertThatThrownBy(() -> ask(new ReplicaLoad(new ReplicaAddress("n1", 0, 0, 1), 0)).await())
        .hasMessageContaining("message: ReplicaLoad (expected: a batch)");
  }
}
