package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RecordingBus;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.StreamLedger;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.replica.slots.LedgerLimits;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The shell: one consumer and one timer, everything on the verticle's own event loop. */
@Timeout(20)
class ReplicaVerticleTest {
  private static final RouterAddress ROUTER = new RouterAddress("n1", 0);

  private final Vertx vertx = Vertx.vertx();
  private final RecordingBus bus = new RecordingBus();
  private final BlockingQueue<BusMessage> answers = new LinkedBlockingQueue<>();
  private final AtomicReference<String> handlerThread = new AtomicReference<>();
  private final ReplicaVerticle verticle =
      new ReplicaVerticle(
          (executor, timer) ->
              new ReplicaLoop(
                  "n1",
                  0,
                  executor,
                  bus,
                  System::nanoTime,
                  timer,
                  ReplicaLimits.DEFAULTS,
                  BodyBounds.defaults(),
                  new StreamLedger(64 << 20)));

  @AfterEach
  void close() throws Exception {
    await(vertx.close());
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private Replica start(AsyncHandler handler) throws Exception {
    bus.onSend(sent -> answers.add(sent.message()));
    vertx.eventBus().registerCodec(new BusMessageCodec());
    await(vertx.deployVerticle(verticle));
    ReplicaHost host =
        new ReplicaHost(
            "n1",
            bus,
            System::nanoTime,
            () -> 1,
            new HandlerPorts(
                () -> Instant.EPOCH,
                HookThreads.on(
                    task ->
                        vertx.executeBlocking(
                            () -> {
                              task.run();
                              return null;
                            }))),
            HandlerThreads::create,
            ReplicaLimits.DEFAULTS,
            LedgerLimits.DEFAULTS,
            ReplicaListener.NONE);
    ReplicaSpec spec =
        new ReplicaSpec(
            "app#echo#1",
            new DeploymentId("app", "echo"),
            7,
            1,
            Map.of(),
            c -> handler,
            null,
            HealthCheckSettings.DEFAULTS,
            null);
    return await(host.start(spec, List.of(new ReplicaSeat(verticle.loop(), name -> null))));
  }

  private void send(Replica replica, long deadlineMs) {
    assertThat(replica.slots().tryAcquire()).isTrue();
    vertx
        .eventBus()
        .send(
            replica.address().busAddress(),
            new CallRequest(
                ReplicaRig.callId(1, 1),
                ROUTER,
                new AttemptId(1, 0, 1),
                replica.address(),
                Admission.Held.HELD,
                deadlineMs,
                0,
                0,
                "r",
                "",
                "",
                Request.get("/"),
                false,
                false),
            new DeliveryOptions().setCodecName(BusMessageCodec.NAME).setLocalOnly(true));
  }

  private BusMessage answer() throws InterruptedException {
    BusMessage answer = answers.poll(10, TimeUnit.SECONDS);
    assertThat(answer).as("an answer within 10 s").isNotNull();
    return answer;
  }

  @Test
  void aMessageToItsAddressIsServedOnItsEventLoop() throws Exception {
    AtomicReference<Context> context = new AtomicReference<>();
    Replica replica =
        start(
            (request, about) -> {
              handlerThread.set(Thread.currentThread().getName());
              context.set(Vertx.currentContext());
              return Future.succeededFuture(Response.text("ok"));
            });

    send(replica, -1);

    assertThat(((CallResponse) answer()).body().toString()).isEqualTo("ok");
    assertThat(context.get().isEventLoopContext()).isTrue();
    assertThat(handlerThread.get()).startsWith("vert.x-eventloop-thread");
  }

  @Test
  void afterUsesARealTimerAndCompletesOnTheLoop() throws Exception {
    AtomicReference<String> afterThread = new AtomicReference<>();
    Replica replica =
        start(
            (request, about) -> {
              handlerThread.set(Thread.currentThread().getName());
              return about
                  .after(Duration.ofMillis(5))
                  .map(
                      none -> {
                        afterThread.set(Thread.currentThread().getName());
                        return Response.text("later");
                      });
            });

    send(replica, -1);

    assertThat(((CallResponse) answer()).body().toString()).isEqualTo("later");
    assertThat(afterThread.get()).isEqualTo(handlerThread.get());
  }

  @Test
  void itsTickWatchesDeadlines() throws Exception {
    LinkedBlockingQueue<Boolean> cancelled = new LinkedBlockingQueue<>();
    Replica replica =
        start(
            (request, about) -> {
              about.onCancel(() -> cancelled.add(about.cancelled()));
              return about.after(Duration.ofMinutes(10)).map(none -> Response.text("never"));
            });

    send(replica, 30);

    assertThat(cancelled.poll(10, TimeUnit.SECONDS)).isTrue();
    assertThat(await(replica.drain().otherwiseEmpty())).isNull();
    assertThat(replica.slots().ongoing()).isZero();
    assertThat(answers).isEmpty();
  }

  @Test
  void undeployedItTakesNoMoreMessages() throws Exception {
    Replica replica = start((request, about) -> Future.succeededFuture(Response.text("ok")));
    await(vertx.undeploy(verticle.deploymentID()));

    await(
        vertx
            .eventBus()
            .request(
                replica.address().busAddress(),
                "anyone there?",
                new DeliveryOptions().setSendTimeout(5_000))
            .transform(
                result -> {
                  assertThat(result.failed()).isTrue();
                  assertThat(result.cause()).hasMessageContaining("No handlers");
                  return Future.succeededFuture();
                }));
  }
}
