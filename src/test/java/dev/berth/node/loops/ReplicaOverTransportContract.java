package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.node.DataPlane;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SendResult;
import dev.berth.replica.Replica;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * What a replica and its slots promise to a router of another instance, whatever carries their
 * messages: those of the one come to it as those of the other go back, by the sender that is tried.
 */
abstract class ReplicaOverTransportContract extends TransportContract {
  private static final RouterAddress ROUTER = new RouterAddress("n0", 0);
  private static final String BACK = "berth.router.n1.0"; // where the answers are heard
  private static final long IN_TIME = TimeUnit.SECONDS.toMicros(20);
  private static final long TTL_MS = 30_000;
  private static final int SLOTS = 2;

  private final BlockingQueue<BusMessage> answers = new LinkedBlockingQueue<>();
  private final AtomicInteger executions = new AtomicInteger();
  private Replica replica;
  private long ids = 1L << 32;
  private int attempts;

  ReplicaOverTransportContract() {}

  ReplicaOverTransportContract(Vertx vertx) {
    super(vertx);
  }

  /** A replica of two slots in instance "n1", which answers at once. */
  private void open() throws Exception {
    DataPlane plane =
        new PlaneBuilder(
                "n1", System::nanoTime, (node, address, said) -> sender().send("n1", BACK, said))
            .loop(task -> loop.runOnContext(none -> task.run()), loop::inThread)
            .plane();
    DeploymentId echo = new DeploymentId("app", "echo");
    AsyncHandler handler =
        (request, about) ->
            Future.succeededFuture(Response.text("run " + executions.incrementAndGet()));
    replica =
        plane
            .host
            .begin(
                Replicas.spec("app#echo#1", echo, 7, SLOTS, made -> handler),
                List.of(Replicas.seat(plane.replicas(0))))
            .running()
            .toCompletionStage()
            .toCompletableFuture()
            .get(10, TimeUnit.SECONDS);
    receive(replica.address().busAddress(), plane.replicas(0)::onMessage);
    receive(BACK, answers::add);
  }

  @AfterEach
  void everySlotIsBack() {
    if (replica != null) {
      assertThat(replica.slots().ongoing()).isZero();
    }
  }

  private AttemptId attempt() {
    return new AttemptId(5, 0, ++attempts);
  }

  private <T extends BusMessage> T ask(BusMessage message, Class<T> expected) throws Exception {
    assertThat(sender().send("n1", replica.address().busAddress(), message))
        .isEqualTo(SendResult.SENT);
    BusMessage answer = answers.poll(10, TimeUnit.SECONDS);
    assertThat(answer).isInstanceOf(expected);
    return expected.cast(answer);
  }

  private ReserveSlot reserve(AttemptId attempt) {
    return new ReserveSlot(++ids, ROUTER, attempt, replica.address(), TTL_MS, IN_TIME, 1);
  }

  private ReleaseSlot release(AttemptId attempt) {
    return new ReleaseSlot(1, ROUTER, attempt, replica.address());
  }

  private CallRequest call(AttemptId attempt, Admission by, long acceptMicros) {
    return new CallRequest(
        ++ids,
        ROUTER,
        attempt,
        replica.address(),
        by,
        -1,
        acceptMicros,
        0,
        0,
        "r",
        "",
        "",
        Request.get("/"),
        false,
        false,
        null,
        1);
  }

  private void assertRefused(BusMessage message, Refusal reason) throws Exception {
    assertThat(ask(message, CallRefused.class).reason()).isEqualTo(reason);
  }

  @Test
  void aSlotIsReservedOnceHoweverOftenItIsAskedForAndIsReleasedByItsName() throws Exception {
    open();
    AttemptId attempt = attempt();
    SlotReserved first = ask(reserve(attempt), SlotReserved.class);
    assertThat(ask(reserve(attempt), SlotReserved.class).token()).isEqualTo(first.token());
    assertThat(replica.slots().ongoing()).isOne();
    SlotReserved renewed =
        ask(
            new RenewLease(
                ++ids, ROUTER, attempt, replica.address(), first.token(), TTL_MS, IN_TIME),
            SlotReserved.class);
    assertThat(renewed.token()).isEqualTo(first.token());
    ask(release(attempt), CallRefused.class);
    AttemptId overtaken = attempt();
    ask(release(overtaken), CallRefused.class);
    assertRefused(reserve(overtaken), Refusal.REVOKED);
  }

  @Test
  void noMoreAreGrantedThanThereAre() throws Exception {
    open();
    AttemptId one = attempt();
    AttemptId two = attempt();
    ask(reserve(one), SlotReserved.class);
    ask(reserve(two), SlotReserved.class);
    assertThat(replica.slots().tryAcquire(attempt())).isEqualTo(Refusal.FULL);
    ask(release(one), CallRefused.class);
    ask(release(two), CallRefused.class);
  }

  @Test
  void aRequestRunsOnceByItsTokenAndNoSecondOneDoes() throws Exception {
    open();
    SlotToken token = ask(reserve(attempt()), SlotReserved.class).token();
    CallRequest request = call(attempt(), new Admission.Token(token), IN_TIME);
    assertThat(ask(request, CallResponse.class).body()).hasToString("run 1");
    sender().send("n1", replica.address().busAddress(), request); // its duplicate is dropped
    assertRefused(call(attempt(), new Admission.Token(token), IN_TIME), Refusal.ALREADY_USED);
    assertThat(executions).hasValue(1);
  }

  @Test
  void aRequestIsAcceptedAnsweredAndAskedAfter() throws Exception {
    open();
    CallRequest request = call(attempt(), Admission.IfFree.IF_FREE, IN_TIME);
    ask(request, CallAccepted.class);
    assertThat(answers.poll(10, TimeUnit.SECONDS)).isInstanceOf(CallResponse.class);
    BusMessage recall =
        new RecallCall(request.callId(), ROUTER, request.attempt(), replica.address());
    ask(recall, CallFailed.class);
    ask(recall, CallFailed.class);
    assertThat(executions).hasValue(1);
  }

  @Test
  void whatIsRecalledOrCancelledBeforeItComesNeverRuns() throws Exception {
    open();
    CallRequest recalled = call(attempt(), Admission.IfFree.IF_FREE, IN_TIME);
    CallRequest cancelled = call(attempt(), Admission.IfFree.IF_FREE, IN_TIME);
    assertRefused(
        new RecallCall(recalled.callId(), ROUTER, recalled.attempt(), replica.address()),
        Refusal.RECALLED);
    ask(
        new CancelCall(cancelled.callId(), ROUTER, cancelled.attempt(), replica.address(), false),
        CallFailed.class);
    for (CallRequest late : List.of(recalled, cancelled)) {
      sender().send("n1", replica.address().busAddress(), late);
    }
    assertRefused(call(attempt(), Admission.IfFree.IF_FREE, 0), Refusal.TOO_LATE);
    assertThat(executions).hasValue(0);
  }
}
