package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.RecordingBus;
import dev.berth.fakes.Replicas;
import dev.berth.node.loops.Identity;
import dev.berth.node.loops.LoopVerticle;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.wire.BusMessageCodec;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaSpec;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.junit5.VertxExtension;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** The shell: two consumers and one timer, everything on the loop's own thread. */
@Timeout(20)
@ExtendWith(VertxExtension.class)
class DataPlaneVerticleTest {
  private static final RouterAddress ROUTER = new RouterAddress("n1", 0);

  private Vertx vertx;
  private final RecordingBus bus = new RecordingBus();
  private final BlockingQueue<BusMessage> answers = new LinkedBlockingQueue<>();
  private final LoopVerticle loop = new LoopVerticle("loop 0");
  private DataPlane plane;
  private DataPlaneVerticle verticle;

  @BeforeEach
  void deploy(Vertx made) throws Exception {
    vertx = made;
    bus.onSend(sent -> answers.add(sent.message()));
    vertx.eventBus().registerCodec(new BusMessageCodec());
    vertx.deployVerticle(loop).await();
    plane =
        new PlaneBuilder("n1", System::nanoTime, bus)
            .loop(loop.ports(bus, Identity.create(null)))
            .handlers(
                PlaneBuilder.handlers(
                    PlaneBuilder.hooks(task -> vertx.executeBlocking(Executors.callable(task)))))
            .plane();
    verticle = new DataPlaneVerticle(plane, 0, () -> {});
    loop.deploy(verticle).await();
  }

  private Replica start(AsyncHandler handler) throws Exception {
    ReplicaSpec spec =
        Replicas.spec("app#echo#1", new DeploymentId("app", "echo"), 7, 1, c -> handler);
    return plane.host.begin(spec, List.of(Replicas.seat(plane.replicas(0)))).running().await();
  }

  private void send(Replica replica, long deadlineMs) {
    assertThat(replica.slots().tryAcquire()).isTrue();
    vertx
        .eventBus()
        .send(
            replica.address().busAddress(),
            new CallRequest(
                (1L << 32) | 1,
                ROUTER,
                new AttemptId(1, 0, 1),
                replica.address(),
                Admission.AcquiredSlot.HELD,
                deadlineMs < 0 ? -1 : deadlineMs * 1_000,
                -1,
                0,
                0,
                "r",
                "",
                "",
                Request.get("/"),
                false,
                false,
                null,
                1),
            new DeliveryOptions().setCodecName(BusMessageCodec.NAME).setLocalOnly(true));
  }

  private BusMessage answer() throws InterruptedException {
    BusMessage answer = answers.poll(10, TimeUnit.SECONDS);
    assertThat(answer).as("an answer within 10 s").isNotNull();
    return answer;
  }

  @Test
  void aMessageToItsAddressIsServedOnItsEventLoopAndSoIsWhatComesAfter() throws Exception {
    List<Thread> threads = new ArrayList<>();
    AtomicReference<Context> context = new AtomicReference<>();
    Replica replica =
        start(
            (request, about) -> {
              threads.add(Thread.currentThread());
              context.set(Vertx.currentContext());
              return about
                  .after(Duration.ofMillis(5))
                  .map(
                      none -> {
                        threads.add(Thread.currentThread());
                        return Response.text("later");
                      });
            });
    send(replica, -1);
    assertThat(((CallResponse) answer()).body().toString()).isEqualTo("later");
    assertThat(context.get().isEventLoopContext()).isTrue();
    assertThat(threads.get(0)).isSameAs(threads.get(1));
    assertThat(threads.get(0).getName()).startsWith("vert.x-eventloop-thread");
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
    assertThat(replica.drain().otherwiseEmpty().await()).isNull();
    assertThat(replica.slots().ongoing()).isZero();
    assertThat(answers).isEmpty();
  }

  @Test
  void undeployedItTakesNoMoreMessages() throws Exception {
    Replica replica = start((request, about) -> Future.succeededFuture(Response.text("ok")));
    loop.undeploy(verticle).await();

    assertThatThrownBy(
            () ->
                vertx
                    .eventBus()
                    .request(
                        replica.address().busAddress(),
                        "anyone there?",
                        new DeliveryOptions().setSendTimeout(5_000))
                    .await())
        .hasMessageContaining("No handlers");
  }
}
