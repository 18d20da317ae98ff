package dev.berth.replica;

import static dev.berth.replica.slots.Ledgers.assertAtRest;
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
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A replica spread over two real threads, called by routers on others, some of them elsewhere and
 * noted when refused, its answers made on a third: at the end no slot is taken, every call has one
 * answer, and the audit is clean.
 */
@Tag("concurrency")
@Timeout(60)
class ReplicaStressTest {
  private static final int CALLS = 15_000; // per router
  private static final int SLOTS = 3;
  private static final int OFFERED = 3; // as a router's number, of calls that use an offer

  private static final RouterAddress AWAY = new RouterAddress("n2", 2);

  private final AtomicLong answers = new AtomicLong();
  private final AtomicLong answersAway = new AtomicLong();
  private final AtomicLong offers = new AtomicLong();
  private final AtomicLong secrets = new AtomicLong();
  private final List<ExecutorService> executors = new ArrayList<>();
  private final List<ReplicaLoop> loops = new ArrayList<>();

  private ExecutorService executor() {
    ExecutorService made = Executors.newSingleThreadExecutor();
    executors.add(made);
    return made;
  }

  @Test
  void noSlotIsLostWhenLoopsRoutersAndHandlersRunOnThreadsOfTheirOwn() throws Exception {
    ExecutorService answering = executor();
    ExecutorService offered = executor();
    SplittableRandom choice = new SplittableRandom(1);
    BusSender bus =
        (node, address, message) -> {
          if (message instanceof CallResponse
              || message instanceof CallFailed
              || message instanceof CallRefused no && no.reason() != Refusal.RELEASED) {
            answers.incrementAndGet();
            if (address.equals(AWAY.busAddress())) {
              answersAway.incrementAndGet();
            }
          } else if (message instanceof SlotOffer offer) {
            offers.incrementAndGet();
            offered.execute(
                () -> {
                  boolean use = choice.nextBoolean(); // on this one thread
                  BusMessage reply = use ? using(offer) : givingBack(offer);
                  ReplicaLoop loop = loops.get(0);
                  loop.execute(() -> loop.onMessage(reply));
                });
          }
          return SendResult.SENT;
        };
    PlaneBuilder building =
        new PlaneBuilder("n1", System::nanoTime, bus)
            .handlers(PlaneBuilder.handlers(PlaneBuilder.hooks(executor())));
    for (int i = 0; i < 2; i++) {
      AtomicReference<Thread> thread = new AtomicReference<>();
      ExecutorService executor = executor();
      executor.execute(() -> thread.set(Thread.currentThread()));
      building.loop(
          executor, () -> Thread.currentThread() == thread.get(), (delay, task) -> () -> {});
    }
    DataPlane plane = building.plane();
    ReplicaHost host = plane.host;
    loops.add(plane.replicas(0));
    loops.add(plane.replicas(1));
    AsyncHandler handler =
        (request, context) -> {
          Promise<Response> promise = Promise.promise();
          if (request.path().endsWith("0")) {
            promise.complete(Response.text("now"));
          } else {
            answering.execute(() -> promise.complete(Response.text("later")));
          }
          return promise.future();
        };
    ReplicaSpec spec =
        Replicas.spec("app#echo#1", new DeploymentId("app", "echo"), 7, SLOTS, c -> handler);
    List<ReplicaLoopBinding> seats = new ArrayList<>();
    loops.forEach(loop -> seats.add(Replicas.seat(loop)));
    Replica replica =
        host.begin(spec, seats)
            .running()
            .toCompletionStage()
            .toCompletableFuture()
            .get(10, TimeUnit.SECONDS);

    AtomicLong expected = new AtomicLong();
    List<Thread> routers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      int router = i;
      routers.add(new Thread(() -> expected.addAndGet(route(replica, router))));
    }
    routers.forEach(Thread::start);
    for (Thread router : routers) {
      router.join();
    }
    Thread sweeper =
        new Thread(() -> host.sweep(0, 1, mismatch -> {})); // expiry from yet another thread
    sweeper.start();
    sweeper.join();

    // A shut-down waits for what is still on its way; offers run out within 250 ms at most.
    var stopped = replica.shutDown(Duration.ofSeconds(30));
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
    while (!stopped.isComplete() && System.nanoTime() - deadline < 0) {
      host.sweep(0, 1, mismatch -> {});
      Thread.onSpinWait();
    }
    assertThat(stopped.isComplete()).isTrue();
    for (ExecutorService each : executors) {
      each.shutdown();
      assertThat(each.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }

    assertAtRest(replica.slots());
    assertThat(loops).allMatch(loop -> loop.invocations() == 0);
    assertThat(answers.get()).isEqualTo(expected.get() + usedOffers.get());
    assertThat(offers.get()).as("some were refused and offered").isPositive();
    assertThat(replica.processedRequests()).isGreaterThan(2 * CALLS);
  }

  private final AtomicLong usedOffers = new AtomicLong();
  private final AtomicLong attempts = new AtomicLong();

  private BusMessage using(SlotOffer offer) {
    long use = usedOffers.incrementAndGet();
    return request(OFFERED, use, AWAY, offer.target(), new Admission.Token(offer.tokens().get(0)));
  }

  private static BusMessage givingBack(SlotOffer offer) {
    return new ReleaseSlot(-1, AWAY, offer.attempt(), offer.target());
  }

  private CallRequest request(
      int router, long number, RouterAddress source, ReplicaAddress target, Admission by) {
    int place = 1_000 * router + (int) (number % 1_000);
    ReplicaRig.Call call = new ReplicaRig.Call(target).from(source).by(by).window(0);
    call.request = Request.get("/" + number);
    return call.id(ReplicaRig.callId(place, (int) (number / 1_000)))
        .attempt(new AttemptId(3, router, attempts.incrementAndGet()))
        .message();
  }

  /** Router 2 is elsewhere, the others take slots through the ledger; the calls sent. */
  private long route(Replica replica, int router) {
    long sent = 0;
    boolean away = router == 2;
    RouterAddress source = away ? AWAY : new RouterAddress("n1", router);
    while (sent < CALLS) {
      int at = away ? 0 : router;
      if (away ? answersAway.get() + 200 < sent : !replica.slots().tryAcquire()) {
        Thread.onSpinWait();
        continue;
      }
      sent++;
      CallRequest message =
          request(
              router,
              sent,
              source,
              replica.address().onLoop(at),
              away ? Admission.IfFree.IF_FREE : Admission.AcquiredSlot.HELD);
      ReplicaLoop loop = loops.get(at);
      loop.execute(() -> loop.onMessage(message));
    }
    return sent;
  }
}
