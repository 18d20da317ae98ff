package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.fakes.RecordingBus;
import dev.berth.fakes.Replicas;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.node.DataPlane;
import dev.berth.node.InstanceLimits;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RequestOrigin;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.log.FailureLog;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.stream.StreamMemoryBudget;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A replica with its loops under the test's hand: the test is the loop's thread, moves the clock,
 * runs the tasks, and plays the routers.
 */
final class ReplicaRig {
  static final DeploymentId DEPLOYMENT = new DeploymentId("app", "echo");

  /** A router loop on the replica's own instance, and two elsewhere. */
  static final RouterAddress OWN = new RouterAddress("n1", 0);

  static final RouterAddress AWAY = new RouterAddress("n2", 0);
  static final RouterAddress AWAY_TOO = new RouterAddress("n3", 1);

  /** What the wall clock says at the start. */
  static final Instant WALL_START = Instant.parse("2026-01-01T00:00:00Z");

  static final int WINDOW = 256 * 1024; // bytes a stream may send before the first credit

  final ManualClock clock = new ManualClock();
  private final long beganNanos = clock.getAsLong();
  final BodyMemoryLimits bodyBounds;
  final QueueExecutor tasks = new QueueExecutor(); // of every loop
  final QueueExecutor untaken = new QueueExecutor(); // of the loop that is stuck
  int stuck = -1; // a loop that takes no tasks
  final QueueExecutor offLoop = new QueueExecutor();
  final QueueExecutor health = new QueueExecutor(); // of health checks
  final QueueExecutor workers = new QueueExecutor(); // of blocking handlers
  final StreamMemoryBudget streams;
  final RecordingBus bus = new RecordingBus();
  final List<ReplicaState> states = new ArrayList<>();
  Consumer<ReplicaState> whenTold = state -> {}; // of a new state, while it is told
  final List<String> suspicions = new ArrayList<>(); // what was told of passive health
  final List<String> waits = new ArrayList<>(); // what was told of starts that wait
  String lost = ""; // what is said of threads
  String upstream = ""; // key of the replicas that start later
  boolean noThreads; // and there will be none
  boolean noWorkers; // for blocking handlers
  final List<Timer> timers = new ArrayList<>();
  final LatencyBuckets healthCheckTimes = new LatencyBuckets();
  final ReplicaHost host;
  final List<ReplicaLoop> loops = new ArrayList<>();
  private final AtomicLong counters = new AtomicLong();
  private final Map<Long, Long> limits = new HashMap<>(); // of responses, by call
  private final List<Replica> started = new ArrayList<>();
  private long epochs = 7;
  int workersStopped;
  int workersResizedTo;

  /** A delay a handler asked for. */
  static final class Timer {
    final long delayNanos;
    final Runnable task;
    boolean cancelled;

    Timer(long delayNanos, Runnable task) {
      this.delayNanos = delayNanos;
      this.task = task;
    }
  }

  ReplicaRig() {
    this(ReplicaLimits.DEFAULTS, 1);
  }

  ReplicaRig(ReplicaLimits limits, int loopCount) {
    this(limits, loopCount, PlaneBuilder.bodyBounds());
  }

  ReplicaRig(ReplicaLimits limits, int loopCount, BodyMemoryLimits bodyBounds) {
    this.bodyBounds = bodyBounds;
    InstanceLimits bounds = PlaneBuilder.limits(limits, bodyBounds, PlaneBuilder.instanceBounds());
    PlaneBuilder building =
        new PlaneBuilder("n1", clock, bus)
            .wallClock(() -> WALL_START.plusNanos(clock.getAsLong() - beganNanos))
            .handlers(
                new HandlerPorts(
                    hookThreads(),
                    (application, replicaId, maxOngoing, virtual) -> threads(),
                    new Listener()))
            .limits(bounds);
    Thread test = Thread.currentThread();
    for (int i = 0; i < loopCount; i++) {
      int index = i;
      Executor loop = task -> (index == stuck ? untaken : tasks).execute(task);
      building.loop(loop, () -> Thread.currentThread() == test, this::startTimer);
    }
    DataPlane plane = building.plane();
    for (int i = 0; i < loopCount; i++) {
      loops.add(plane.replicas(i));
    }
    host = plane.host;
    streams = bounds.instance().streams;
  }

  /** Hooks of a replica that an executor runs. */
  static ReplicaHooks hooks(Executor threads, ManualClock clock) {
    return new ReplicaHooks(
        (kind, task) -> {
          threads.execute(task);
          return () -> {};
        },
        clock,
        new FailureLog(DEPLOYMENT, "app#echo#1", clock));
  }

  private final class Listener implements ReplicaListener {
    @Override
    public void onStateChanged(Replica replica, ReplicaState state) {
      states.add(state);
      whenTold.accept(state);
    }

    @Override
    public void onWaiting(Replica replica, String reason) {
      waits.add(reason);
    }

    @Override
    public void onSuspected(Replica replica, boolean suspect, String reason) {
      suspicions.add(suspect ? "suspect: " + reason : "cleared");
    }
  }

  private HookThreads hookThreads() {
    return new HookThreads() {
      @Override
      public Runnable run(String application, HookKind kind, Runnable task) {
        if (noThreads) {
          throw new RejectedExecutionException("no thread");
        }
        QueueExecutor executor = kind == HookKind.HEALTH ? health : offLoop;
        executor.execute(task);
        return () -> executor.remove(task);
      }

      @Override
      public String blockedReason(String application) {
        return lost;
      }
    };
  }

  private Runnable startTimer(long delayNanos, Runnable task) {
    Timer timer = new Timer(delayNanos, task);
    timers.add(timer);
    return () -> timer.cancelled = true;
  }

  private HandlerThreads threads() {
    return new HandlerThreads() {
      @Override
      public void resize(int maxOngoing) {
        workersResizedTo = maxOngoing;
      }

      @Override
      public void stop() {
        workersStopped++;
      }

      @Override
      public void execute(Runnable task) {
        if (noWorkers) {
          throw new RejectedExecutionException("no worker");
        }
        workers.execute(task);
      }
    };
  }

  // --- starting ---

  Replica start(int maxOngoing, ReplicaHandler handler) {
    return start(maxOngoing, context -> handler, 1);
  }

  /** A replica with a call of this instance's router. */
  Replica busy(int maxOngoing, ReplicaHandler handler, long callId) {
    Replica begun = start(maxOngoing, handler);
    sendHeld(begun, callId);
    return begun;
  }

  Replica start(int maxOngoing, HandlerFactory factory, int seats) {
    Future<Replica> begun = begin(maxOngoing, factory, seats);
    runAll();
    assertThat(begun.succeeded()).as("started: %s", begun.cause()).isTrue();
    started.add(begun.result());
    return begun.result();
  }

  /** The last that was started. */
  Replica replica() {
    return started.get(started.size() - 1);
  }

  Future<Replica> begin(int maxOngoing, HandlerFactory factory, int seats) {
    ReplicaSpec spec = spec(maxOngoing, factory, null, null);
    return host.begin(spec, IntStream.range(0, seats).mapToObj(this::seat).toList()).running();
  }

  /** What is to be started, with defaults for what is null. */
  ReplicaSpec spec(
      int maxOngoing,
      HandlerFactory factory,
      @Nullable ReplicaLimits limits,
      @Nullable Long startTimeoutNanos) {
    long epoch = epochs++;
    return new ReplicaSpec(
        "app#echo#" + epoch,
        DEPLOYMENT,
        epoch,
        maxOngoing,
        Map.of("k", "v"),
        factory,
        limits,
        Replicas.HEALTH_CHECKS,
        healthCheckTimes,
        false,
        startTimeoutNanos,
        upstream);
  }

  ReplicaLoopBinding seat(int loop) {
    return Replicas.seat(loops.get(loop));
  }

  // --- time and tasks ---

  /** Runs what is queued on every executor, until nothing is. */
  void runAll() {
    while (tasks.runAll() + offLoop.runAll() + workers.runAll() > 0) {
      // What one ran may have queued on another.
    }
  }

  /** What was asked for, and all that comes of it has been done. */
  <T> T settled(T asked) {
    runAll();
    return asked;
  }

  /** Runs to its end on a thread that is no loop's. */
  static void elsewhere(Runnable action) {
    CompletableFuture.runAsync(action, task -> new Thread(task).start()).join();
  }

  /** Moves the clock in ticks, as the real timer would, and runs what each tick queues. */
  void pass(Duration span) {
    long left = span.toNanos();
    while (left > 0) {
      long step = Math.min(left, TickTimer.TICK_NANOS);
      clock.advanceNanos(step);
      left -= step;
      loops.stream().filter(loop -> loop.index() != stuck).forEach(ReplicaLoop::tick);
      tasks.runAll();
    }
  }

  /** No replica holds a slot, no loop knows a request, and no room for bodies is taken. */
  void assertAtRest() {
    started.forEach(replica -> Ledgers.assertAtRest(replica.slots()));
    loops.forEach(loop -> assertThat(loop.invocations()).isZero());
    assertThat(bodyBounds.windows().inUse()).isZero();
    assertThat(bodyBounds.gathered().inUse()).isZero();
  }

  /** The same, as the control loop sees it: it looks ten times a second. */
  void passLooking(Duration span) {
    for (long left = span.toMillis(); left > 0; left -= 100) {
      pass(Duration.ofMillis(Math.min(100, left)));
      host.tick();
    }
  }

  // --- playing a router ---

  AttemptId attempt() {
    return new AttemptId(99, 0, counters.incrementAndGet());
  }

  /** A call id of a place and a generation in a router's table. */
  static long callId(int place, int generation) {
    return ((long) generation << 32) | place;
  }

  static Call call(Replica replica) {
    return new Call(replica.address());
  }

  /** A request of a router elsewhere, to be run if a slot is free. */
  Call away(Replica replica) {
    return call(replica).from(AWAY).attempt(attempt()).ifFree();
  }

  /** A request in the making: held by this instance's router unless said otherwise. */
  static final class Call {
    long callId = callId(1, 1);
    RouterAddress source = OWN;
    AttemptId attempt = new AttemptId(1, 0, 0);
    ReplicaAddress target;
    Admission admission = Admission.AcquiredSlot.HELD;
    long deadlineMs = -1;
    long acceptMicros = BusMessage.NO_LIMIT;
    int window = WINDOW;
    Request request = Request.get("/");
    boolean bodyFollows;
    boolean explained;
    @Nullable RequestOrigin origin;
    long waitedMicros;
    int cost = 1;
    private String requestId = "req-1";
    private String methodName = "";
    private String sessionId = "";

    Call(ReplicaAddress target) {
      this.target = target;
    }

    Call id(long id) {
      callId = id;
      return this;
    }

    Call from(RouterAddress router) {
      source = router;
      return this;
    }

    Call attempt(AttemptId id) {
      attempt = id;
      return this;
    }

    Call to(ReplicaAddress address) {
      target = address;
      return this;
    }

    Call deadlineMs(long millis) {
      deadlineMs = millis;
      return this;
    }

    Call acceptMicros(long micros) {
      acceptMicros = micros;
      return this;
    }

    Call window(int bytes) {
      window = bytes;
      return this;
    }

    /** What its context says of it. */
    Call named(String id, String method, String session) {
      requestId = id;
      methodName = method;
      sessionId = session;
      return this;
    }

    /** A body of which this is the first piece. */
    Call following(Buffer first) {
      request = Request.of("POST", "/", null, request.headers(), first);
      bodyFollows = true;
      return this;
    }

    Call explained() {
      explained = true;
      return this;
    }

    Call header(String name, String value) {
      request =
          Request.of(
              request.method(), "/", null, request.headers().with(name, value), request.bytes());
      return this;
    }

    Call ifFree() {
      admission = Admission.IfFree.IF_FREE;
      return this;
    }

    Call by(Admission right) {
      admission = right;
      return this;
    }

    Call by(SlotToken token) {
      return by(new Admission.Token(token));
    }

    CallRequest message() {
      return new CallRequest(
          callId,
          source,
          attempt,
          target,
          admission,
          deadlineMs < 0 ? -1 : deadlineMs * 1_000,
          acceptMicros,
          window,
          waitedMicros,
          requestId,
          methodName,
          sessionId,
          request,
          bodyFollows,
          explained,
          origin,
          cost);
    }
  }

  ReplicaLoop loop() {
    return loops.get(0);
  }

  /** Sends a call whose slot is taken first, as this instance's router does. */
  void sendHeld(Replica replica, long callId) {
    assertThat(replica.slots().tryAcquire()).isTrue();
    loop().onMessage(call(replica).id(callId).message());
  }

  /** The same, of a call in the making. */
  void sendHeld(Call call) {
    assertThat(host.slotsOf(call.target).tryAcquire()).isTrue();
    send(call);
  }

  void send(Call call) {
    limits.put(call.message().callId(), (long) call.message().streamWindow());
    loop().onMessage(call.message());
  }

  void cancel(Replica replica, long callId) {
    loop().onMessage(new CancelCall(callId, OWN, new AttemptId(1, 0, 0), replica.address(), false));
  }

  /** So many more bytes of its response. */
  void credit(Replica replica, long callId, int bytes) {
    long limit = limits.getOrDefault(callId, 0L) + bytes;
    limits.merge(callId, limit, Math::max);
    loop().onMessage(new StreamCredit(callId, OWN, replica.address(), limit));
  }

  void frame(Replica replica, long callId, int sequence, Buffer data, boolean last) {
    loop().onMessage(new RequestFrame(callId, OWN, replica.address(), sequence, data, last));
  }

  /** A lease taken over the wire by a router elsewhere. */
  SlotToken reserve(Replica replica, AttemptId attempt, long ttlMs) {
    bus.take();
    askFor(replica, attempt, ttlMs);
    return ((SlotReserved) bus.take().get(0)).token();
  }

  /** Asks for a slot, as a router elsewhere. */
  void askFor(Replica replica, AttemptId attempt, long ttlMs) {
    loop()
        .onMessage(
            new ReserveSlot(callId(9, 1), AWAY, attempt, replica.address(), ttlMs, 3_000_000, 1));
  }

  void release(Replica replica, AttemptId attempt) {
    loop().onMessage(new ReleaseSlot(callId(7, 1), AWAY, attempt, replica.address()));
  }

  void renew(Replica replica, SlotToken token, long ttlMs) {
    loop()
        .onMessage(
            new RenewLease(
                callId(6, 1), AWAY, attempt(), replica.address(), token, ttlMs, 3_000_000));
  }

  /** Why the last request was refused. */
  Refusal refusal() {
    return answer(CallRefused.class).reason();
  }

  /** The one message sent since the last look. */
  BusMessage answer() {
    List<BusMessage> sent = bus.take();
    assertThat(sent).hasSize(1);
    return sent.get(0);
  }

  <M extends BusMessage> M answer(Class<M> type) {
    BusMessage answer = answer();
    assertThat(answer).isInstanceOf(type);
    return type.cast(answer);
  }

  // --- handlers ---

  /** Answers when the test says so. */
  static final class Waiting implements AsyncHandler {
    final ArrayDeque<Promise<Response>> promises = new ArrayDeque<>();
    final ArrayDeque<RequestContext> contexts = new ArrayDeque<>();
    int calls;
    int stops;

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      calls++;
      Promise<Response> promise = Promise.promise();
      promises.add(promise);
      contexts.add(context);
      return promise.future();
    }

    @Override
    public void stop() {
      stops++;
    }

    /** Answers the oldest unanswered call. */
    void answer() {
      promises.remove().complete(Response.text("ok"));
    }
  }

  static AsyncHandler answering(Response response) {
    return (request, context) -> Future.succeededFuture(response);
  }
}
