package dev.berth.fakes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.NotRunReason;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.handle.RoutedHandle;
import dev.berth.view.RequestExplanation;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One instance's routers with replicas that do what a test says, in one thread: tasks and messages
 * wait until {@link #run}, time moves by {@link #pass}. The ledgers are real.
 */
public final class RoutingWorld implements ReplicaDirectory {
  public static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  public static final String NODE = "here";

  public final ManualClock clock = new ManualClock();
  public final Routers routers;
  public final DeploymentRouter router;

  /** Every message sent to a replica, in order. */
  public final List<BusMessage> sent = new ArrayList<>();

  /** The records of explained requests. */
  public final List<RequestExplanation> explained = new ArrayList<>();

  /** What a replica that ends an explained request says of its handler. */
  public HandlerTime handlerTime = new HandlerTime(0, 0, RequestFailure.NONE);

  /** What the test does is on no loop's thread: what it asks of a loop waits for {@link #run}. */
  public boolean offLoop;

  /** What becomes of a message to a router: whether it left. */
  public Predicate<BusMessage> betweenRouters = this::toRouter;

  /** Releases and cancels that are still to be answered when all else is at rest, on loop 0. */
  public int repeated;

  private @Nullable Thread turning;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final List<Replica> replicas = new ArrayList<>();
  private final Map<Integer, Replica> byOrdinal = new HashMap<>();
  private final List<Replica> all = new ArrayList<>(); // those that were removed too
  private final int loops;
  private long version;
  private long secrets = 1;
  private long looks;

  public RoutingWorld() {
    this(1, RoutingProbe.DEFAULTS);
  }

  public RoutingWorld(int loops, RouterSettings settings) {
    this(loops, settings, null);
  }

  public RoutingWorld(int loops, RouterSettings settings, @Nullable String zone) {
    this.loops = loops;
    PlaneBuilder plane =
        new PlaneBuilder(NODE, clock, this::send)
            .zone(zone)
            .wallClock(() -> Instant.EPOCH.plusNanos(clock.getAsLong()))
            .explained(explained::add);
    for (int loop = 0; loop < loops; loop++) {
      plane.loop(tasks::add, this::inLoop);
    }
    routers = plane.routers(this);
    router = routers.router(DEPLOYMENT, settings);
  }

  public HandleFactory handle() {
    return handle(0);
  }

  public HandleFactory handle(int loop) {
    return RoutedHandle.of(routers, DEPLOYMENT, router.settings(), loop);
  }

  /** A handle of another deployment, with the settings of the first. */
  public HandleFactory handle(DeploymentId deployment, int loop) {
    return RoutedHandle.of(routers, deployment, router.settings(), loop);
  }

  // --- replicas ---

  /** A replica of this instance, on loop 0, not yet published. */
  public Replica local(String name, int max) {
    return local(name, max, 0, true);
  }

  public Replica local(String name, int max, int loop, boolean reservable) {
    return add(new Replica(DEPLOYMENT, name, NODE, loop, max, reservable, null));
  }

  /** A replica of another deployment, on this instance. */
  public Replica local(DeploymentId deployment, String name, int max) {
    return add(new Replica(deployment, name, NODE, 0, max, true, null));
  }

  /** A replica of another deployment, on another instance. */
  public Replica remote(DeploymentId deployment, String name, int max) {
    return add(new Replica(deployment, name, "there", 0, max, true, null));
  }

  /** A replica of another instance, not yet published. */
  public Replica remote(String name, int max) {
    return remote(name, max, null);
  }

  public Replica remote(String name, int max, @Nullable String zone) {
    return add(new Replica(DEPLOYMENT, name, "there", 0, max, true, zone));
  }

  /** The replica, published with the others. */
  public Replica published(Replica replica) {
    publish();
    return replica;
  }

  private Replica add(Replica replica) {
    replicas.add(replica);
    all.add(replica);
    byOrdinal.put(replica.info.address().ordinal(), replica);
    return replica;
  }

  /** Publishes every replica that has not been removed. */
  public void publish() {
    publish(true);
  }

  public void publish(boolean available) {
    Map<DeploymentId, List<RoutingSnapshot.SnapshotReplica>> routes = new HashMap<>();
    routers.all().forEach(known -> routes.put(known.deployment(), new ArrayList<>()));
    for (Replica replica : replicas) {
      routes
          .computeIfAbsent(replica.info.deployment(), id -> new ArrayList<>())
          .add(new RoutingSnapshot.SnapshotReplica(replica.info, !replica.ledger.draining()));
    }
    RoutingSnapshot.SnapshotVersion next = new RoutingSnapshot.SnapshotVersion(1, ++version);
    routes.forEach(
        (deployment, its) -> {
          routers.router(deployment, router.settings());
          routers.update(new RoutingSnapshot(deployment, next, available, its));
        });
  }

  public void publish(
      RoutingSnapshot.SnapshotVersion as,
      boolean available,
      List<RoutingSnapshot.SnapshotReplica> routes) {
    routers.update(new RoutingSnapshot(DEPLOYMENT, as, available, routes));
  }

  /** Takes a replica out of what is published next, and out of the directory. */
  public void remove(Replica replica) {
    replicas.remove(replica);
    byOrdinal.remove(replica.info.address().ordinal());
  }

  /** Takes a replica out, and publishes the others. */
  public void withdraw(Replica replica) {
    remove(replica);
    publish();
  }

  @Override
  public @Nullable Slots slotsOf(ReplicaAddress address) {
    Replica replica = byOrdinal.get(address.ordinal());
    return replica != null && replica.info.address().epoch() == address.epoch()
        ? counted(replica.ledger)
        : null;
  }

  private Slots counted(SlotLedger ledger) {
    return (Slots)
        Proxy.newProxyInstance(
            Slots.class.getClassLoader(),
            new Class<?>[] {Slots.class},
            (proxy, method, arguments) -> {
              looks++;
              return method.invoke(ledger, arguments);
            });
  }

  /** How often routers asked ledgers for anything. */
  public long looks() {
    return looks;
  }

  @Override
  public void observe(ReplicaAddress address, SlotObserver observer) {
    byOrdinal.get(address.ordinal()).ledger.observe(observer);
  }

  // --- time and messages ---

  /** Runs tasks and delivers messages until nothing is left to do. */
  public void run() {
    Thread before = turning;
    turning = Thread.currentThread();
    try {
      for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
        task.run();
      }
    } finally {
      turning = before;
    }
  }

  /** Does something, and all that comes of it. */
  public void run(Runnable first) {
    first.run();
    run();
  }

  /** What was asked for, and all that comes of it has been done. */
  public <T> T settled(T asked) {
    run();
    return asked;
  }

  /** A selection by a handle; it is an error if there is none at once. */
  public ReplicaSelection chosen(DeploymentHandle handle) {
    Future<ReplicaSelection> chosen = settled(handle.choose());
    assertThat(chosen.succeeded()).as("chosen: %s", chosen.cause()).isTrue();
    return chosen.result();
  }

  /** Of every replica that there was. */
  public void assertAllAtRest() {
    assertAtRest(all.toArray(Replica[]::new));
  }

  /** No slot is held, nothing waits, runs or is remembered, and no room is taken. */
  public void assertAtRest(Replica... replicas) {
    for (Replica replica : replicas) {
      assertThat(replica.ledger.ongoing()).as(replica.info.replicaId()).isZero();
      assertThat(replica.ledger.audit()).hasToString("CLEAN");
    }
    assertAtRest(router);
    routers.all().forEach(RoutingWorld::assertAtRest);
    for (int loop = 0; loop < loops; loop++) {
      assertThat(RoutingProbe.heldAttempts(routers.loop(loop))).as("held attempts").isZero();
      assertThat(routers.loop(loop).pendingRequests()).as("pending").isEqualTo(repeated);
      assertThat(routers.loop(loop).deadlines()).as("deadlines").isEqualTo(repeated);
    }
    assertThat(routers.bounds.queued()).as("queued in all").isZero();
    assertThat(routers.bounds.queuedBytes()).as("bytes queued").isZero();
    assertThat(routers.bounds.streams.bytes()).as("bytes of streams").isZero();
  }

  private static void assertAtRest(DeploymentRouter router) {
    String of = router.deployment().toString();
    assertThat(router.counters.reserved()).as("reserved, %s", of).isZero();
    assertThat(router.counters.running()).as("running, %s", of).isZero();
    assertThat(router.queued()).as("queued, %s", of).isZero();
    assertThat(router.legGate.size()).as("at the gate, %s", of).isZero();
    assertThat(RoutingProbe.ownElsewhere(router)).as("own elsewhere, %s", of).isZero();
  }

  private boolean inLoop() {
    return !offLoop || Thread.currentThread() == turning;
  }

  /** Lets time pass in ticks of 25 ms, as the loops see it, sweeping leases. */
  public void pass(Duration time) {
    long left = time.toNanos();
    while (left > 0) {
      long step = Math.min(left, Duration.ofMillis(25).toNanos());
      clock.advanceNanos(step);
      left -= step;
      for (Replica replica : replicas) {
        replica.ledger.sweep();
      }
      for (int loop = 0; loop < loops; loop++) {
        routers.loop(loop).tick();
      }
      routers.tick();
      run();
    }
  }

  /** A router of this instance gets a message, whoever it was sent to. */
  public boolean toRouter(BusMessage message) {
    tasks.add(() -> routers.loop(0).onMessage(message));
    return true;
  }

  private SendResult send(String node, String address, BusMessage message) {
    sent.add(message);
    if (address.startsWith("berth.router.")) {
      return Sending.result(betweenRouters.test(message));
    }
    Replica target = byOrdinal.get(targetOf(message).ordinal());
    if (target == null || target.unreachable) {
      return target == null ? SendResult.GONE : SendResult.NOT_NOW;
    }
    target.whenSent.accept(message);
    if (target.failingSends) {
      throw new IllegalStateException("the bus is broken");
    }
    if (target.unfit) {
      return SendResult.unfit(new IllegalStateException("it has no wire form"));
    }
    tasks.add(() -> target.receive(message));
    return SendResult.SENT;
  }

  private static ReplicaAddress targetOf(BusMessage message) {
    try {
      return (ReplicaAddress) message.getClass().getMethod("target").invoke(message);
    } catch (ReflectiveOperationException none) {
      throw new IllegalArgumentException("message: " + message + " (expected: to a replica)", none);
    }
  }

  private static Response whole(Buffer bytes) {
    return Response.of(200, Headers.empty(), new Response.Body.Whole(bytes));
  }

  /** What a call of this id is answered: 200, and nothing. */
  public static BusMessage.CallResponse answer(long callId) {
    return new BusMessage.CallResponse(callId, whole(Buffer.buffer()), 0, 0, null);
  }

  public <T extends BusMessage> List<T> sent(Class<T> type) {
    return sent.stream().filter(type::isInstance).map(type::cast).toList();
  }

  /** A replica whose requests run until the test ends them. */
  public final class Replica {
    public final ReplicaInfo info;
    public final SlotLedger ledger;
    public final List<BusMessage.CallRequest> running = new ArrayList<>();
    public final List<BusMessage.CancelCall> cancelled = new ArrayList<>();
    public int executions;

    /** Messages to it certainly do not leave. */
    public boolean unreachable;

    /** Sending to it throws. */
    public boolean failingSends;

    /** Messages to it have no wire form. */
    public boolean unfit;

    /** Runs when a message is sent to it, before that leaves. */
    public Consumer<BusMessage> whenSent = message -> {};

    /** It has slots, but no thread for a request. */
    public boolean threadless;

    /** Messages to it arrive and are never answered. */
    public boolean silent;

    /** It does what it is told, and its answers are lost. */
    public boolean answersLost;

    Replica(
        DeploymentId deployment,
        String name,
        String node,
        int loop,
        int max,
        boolean reservable,
        @Nullable String zone) {
      int ordinal = byOrdinal.size() + replicas.size() + (int) secrets++;
      info =
          Replicas.info(
              name,
              deployment,
              new ReplicaAddress(node, loop, ordinal, 1000 + ordinal),
              max,
              reservable,
              zone);
      ledger = Ledgers.ledger(info.address().epoch(), max, clock, () -> secrets++);
    }

    /** Others have taken all of its slots, which no router has been told. */
    public Replica filled() {
      while (ledger.tryAcquire()) {
        // Until none is left.
      }
      return this;
    }

    /** Answers what runs, and what runs after that, until nothing does. */
    public void finishAll() {
      while (!running.isEmpty()) {
        finish();
      }
    }

    private boolean isRemote() {
      return !info.address().node().equals(NODE);
    }

    private void receive(BusMessage message) {
      if (silent) {
        return;
      }
      if (message instanceof BusMessage.CallRequest call) {
        admit(call);
      } else if (message instanceof BusMessage.CancelCall cancel) {
        cancelled.add(cancel);
        ledger.release(cancel.attempt());
        running.stream()
            .filter(call -> call.callId() == cancel.callId())
            .toList()
            .forEach(this::complete); // this handler settles at once when it is cancelled
        if (isRemote() && !cancel.timedOut()) {
          answer(cancel.source(), failed(cancel.callId(), BerthException.Kind.CANCELLED));
        }
      } else if (message instanceof BusMessage.RecallCall recall) {
        recalled(recall);
      } else if (message instanceof BusMessage.ReserveSlot reserve) {
        Slots.ReserveResult outcome =
            ledger.reserve(reserve.attempt(), reserve.cost(), reserve.ttlMs() * 1_000_000);
        if (outcome instanceof Slots.ReserveResult.ReserveGranted granted) {
          SlotToken token = granted.lease().token();
          reserved(reserve.source(), reserve.callId(), reserve.attempt(), token, reserve.ttlMs());
        } else {
          Refusal why = ((Slots.ReserveResult.ReserveRefused) outcome).reason();
          refused(reserve.source(), reserve.callId(), why);
        }
      } else if (message instanceof BusMessage.ReleaseSlot release) {
        ledger.release(release.attempt());
        refused(release.source(), release.callId(), Refusal.RELEASED);
      } else if (message instanceof BusMessage.RenewLease renew) {
        Refusal refusal = ledger.renew(renew.token(), renew.ttlMs() * 1_000_000);
        if (refusal == null) {
          reserved(renew.source(), renew.callId(), renew.attempt(), renew.token(), renew.ttlMs());
        } else {
          refused(renew.source(), renew.callId(), refusal);
        }
      }
    }

    private void recalled(BusMessage.RecallCall recall) {
      boolean runs = running.stream().anyMatch(call -> call.attempt().equals(recall.attempt()));
      if (runs) {
        answer(recall.source(), new BusMessage.CallAccepted(recall.callId(), ledger.load()));
      } else if (ledger.recall(recall.attempt()) == AttemptState.GRANTED) {
        answer(recall.source(), failed(recall.callId(), BerthException.Kind.OUTCOME_UNKNOWN));
      } else {
        refused(recall.source(), recall.callId(), Refusal.RECALLED);
      }
    }

    private BusMessage.CallFailed failed(long callId, BerthException.Kind kind) {
      return new BusMessage.CallFailed(callId, kind, "", -1, -1, ledger.load(), null);
    }

    private void reserved(
        RouterAddress to, long callId, AttemptId attempt, SlotToken token, long ttlMs) {
      answer(
          to,
          new BusMessage.SlotReserved(
              callId, attempt, info.address(), token, ttlMs * 1_000, ledger.load(), 1));
    }

    private void refused(RouterAddress to, long callId, Refusal why) {
      answer(to, new BusMessage.CallRefused(callId, why, ledger.load()));
    }

    private void admit(BusMessage.CallRequest call) {
      Refusal refusal = null;
      if (call.admission() instanceof Admission.Token token) {
        refusal = ledger.consume(token.token(), call.attempt(), call.cost());
      } else if (call.admission() == Admission.IfFree.IF_FREE) {
        refusal = ledger.tryAcquire(call.attempt(), call.cost());
        if (refusal == null && !threadless) {
          answer(call.source(), new BusMessage.CallAccepted(call.callId(), ledger.load()));
        }
      } else if (call.admission() == Admission.NoSlot.NO_SLOT && isRemote()) {
        answer(call.source(), new BusMessage.CallAccepted(call.callId(), ledger.load()));
      }
      if (refusal == null && threadless) {
        ledger.complete(call.cost());
        refusal = Refusal.OVERLOADED;
      }
      if (refusal != null) {
        refused(call.source(), call.callId(), refusal);
        return;
      }
      executions++;
      running.add(call);
    }

    /** Answers its oldest request, and runs what comes of it. */
    public void finish() {
      respond();
      run();
    }

    /** Ends its oldest request with 200 and its own name as the body. */
    public void respond() {
      respond(running.get(0));
    }

    public void respond(BusMessage.CallRequest call) {
      complete(call);
      Response body = whole(Buffer.buffer(info.replicaId()));
      answer(
          call.source(), new BusMessage.CallResponse(call.callId(), body, 0, load(), time(call)));
    }

    /** Its oldest request's response begins; {@link #endStream} ends it. */
    public BusMessage.CallRequest beginStream() {
      BusMessage.CallRequest call = running.get(0);
      beginStream(call);
      return call;
    }

    public void beginStream(BusMessage.CallRequest call) {
      answer(
          call.source(),
          new BusMessage.CallResponse(
              call.callId(),
              whole(Buffer.buffer()),
              BusMessage.CallResponse.UNKNOWN,
              load(),
              time(call)));
    }

    public void endStream(BusMessage.CallRequest call) {
      complete(call);
      answer(
          call.source(),
          new BusMessage.StreamFrame(call.callId(), 0, Buffer.buffer("all"), true, load()));
    }

    private @Nullable HandlerTime time(BusMessage.CallRequest call) {
      return call.explained() ? handlerTime : null;
    }

    /** Ends its oldest request with a failure of user code, and runs what comes of it. */
    public void fail(String message) {
      BusMessage.CallRequest call = running.get(0);
      complete(call);
      answer(
          call.source(),
          new BusMessage.CallFailed(
              call.callId(),
              BerthException.Kind.HANDLER_FAILED,
              message,
              -1,
              -1,
              load(),
              time(call)));
      run();
    }

    /** Ends its oldest request as one that its upstream did not run, and runs what comes of it. */
    public void notRun() {
      notRun(null);
    }

    public void notRun(@Nullable NotRunReason reason) {
      notRun(running.get(0), reason);
    }

    public void notRun(BusMessage.CallRequest call, @Nullable NotRunReason reason) {
      complete(call);
      answer(
          call.source(),
          new BusMessage.CallRefused(call.callId(), Refusal.NOT_RUN, load(), reason));
      run();
    }

    /** Ends its oldest request as one that its upstream received and did not answer. */
    public void unanswered() {
      BusMessage.CallRequest call = running.get(0);
      complete(call);
      answer(call.source(), failed(call.callId(), BerthException.Kind.OUTCOME_UNKNOWN));
      run();
    }

    private void complete(BusMessage.CallRequest call) {
      running.remove(call);
      boolean slotless = call.admission() == Admission.NoSlot.NO_SLOT;
      if (!slotless && !ledger.observer().completing(ledger, call.cost())) {
        ledger.complete(call.cost());
      }
    }

    private long load() {
      return isRemote() ? ledger.load() : LoadReport.NONE;
    }

    /** Offers a slot to a router loop, as to one it refused before. */
    public AttemptId offer(int loop, long number, Duration ttl) {
      BusMessage.SlotOffer offer = offered(number, ttl);
      answer(new RouterAddress(NODE, loop), offer);
      return offer.attempt();
    }

    /** An offer that is still to be sent. */
    public BusMessage.SlotOffer offered(long number, Duration ttl) {
      AttemptId attempt = new AttemptId(info.address().epoch(), -1, number * SlotDemand.MAX_LEASES);
      Slots.ReserveResult outcome = ledger.reserve(attempt, ttl.toNanos());
      return new BusMessage.SlotOffer(
          info.address(),
          attempt,
          List.of(((Slots.ReserveResult.ReserveGranted) outcome).lease().token()),
          ttl.toNanos() / 1_000,
          ledger.load(),
          1);
    }

    public void answer(RouterAddress to, BusMessage message) {
      if (!answersLost) {
        tasks.add(() -> routers.loop(to.loop()).onMessage(message));
      }
    }
  }
}
