package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.fakes.Sending;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.ReplicaLimits;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.view.RequestExplanation;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The real routers of one loop before one replica of another node, which does what a test says. The
 * replica's answers come to the router as messages, on its loop, as they would from a bus.
 */
final class FakeUpstream implements ReplicaDirectory {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final int SLOTS = 1000;
  private static final SlotToken TOKEN = new SlotToken(5, 1, 1);

  private final Context context;
  private final Routers routers;
  private final Map<Long, Call> calls = new ConcurrentHashMap<>();
  private final BlockingQueue<Call> arrived = new LinkedBlockingQueue<>();
  private volatile @Nullable Consumer<Call> behaviour;
  private volatile boolean streaming;

  /** The records of explained requests. */
  final BlockingQueue<RequestExplanation> explained = new LinkedBlockingQueue<>();

  FakeUpstream(Context context) {
    this(context, PlaneBuilder.instanceBounds());
  }

  FakeUpstream(Context context, InstanceQueueLimits bounds) {
    this.context = context;
    ThreadLocal<Boolean> onLoop = ThreadLocal.withInitial(() -> false);
    context.runOnContext(start -> onLoop.set(true));
    this.routers =
        new PlaneBuilder("here", System::nanoTime, Sending.of(this::send))
            .loop(
                task -> context.runOnContext(run -> task.run()),
                onLoop::get,
                PlaneBuilder.timer(context.owner()))
            .wallClock(Instant::now)
            .explained(explained::add)
            .limits(PlaneBuilder.limits(ReplicaLimits.DEFAULTS, PlaneBuilder.bodyBounds(), bounds))
            .routers(this);
    context.owner().setPeriodic(25, id -> context.runOnContext(tick -> loop().tick()));
  }

  Routers routers() {
    return routers;
  }

  RouterLoop loop() {
    return routers.loop(0);
  }

  DeploymentRouter router() {
    return router(DEPLOYMENT);
  }

  /** The router of a deployment with the one replica. */
  DeploymentRouter router(DeploymentId deployment) {
    DeploymentRouter router = routers.router(deployment, RoutingProbe.DEFAULTS);
    router.update(
        Replicas.snapshot(
            deployment,
            Replicas.info(
                deployment + "#1", deployment, new ReplicaAddress("there", 0, 1, 5), SLOTS)));
    return router;
  }

  /** From now on the replica says that its handler takes bodies whole, of at most so many bytes. */
  void takeBodiesWhole(int bytes) {
    ReplicaAddress address = new ReplicaAddress("there", 0, 2, 5);
    ReplicaInfo whole =
        Replicas.gathering(Replicas.info("whole", DEPLOYMENT, address, SLOTS), bytes);
    router(DEPLOYMENT, 2, true, List.of(new RoutingSnapshot.SnapshotReplica(whole, true)));
  }

  /** The router of a deployment that has no replica yet. */
  DeploymentRouter emptyRouter(DeploymentId deployment) {
    return router(deployment, 1, true, List.of());
  }

  /** The router of a deployment that failed to deploy. */
  DeploymentRouter failedRouter(DeploymentId deployment) {
    return router(deployment, 1, false, List.of());
  }

  private DeploymentRouter router(
      DeploymentId id,
      long version,
      boolean available,
      List<RoutingSnapshot.SnapshotReplica> routes) {
    DeploymentRouter router = routers.router(id, RoutingProbe.DEFAULTS);
    router.update(
        new RoutingSnapshot(
            id, new RoutingSnapshot.SnapshotVersion(1, version), available, routes));
    return router;
  }

  /** What the replica does with calls from now on; it may do it at once, on the loop. */
  void behave(Consumer<Call> next) {
    behaviour = next;
  }

  /** From now on it does anything, and to some calls nothing. */
  void behaveAtRandom(long seed) {
    Random random = new Random(seed);
    behave(
        call -> {
          switch (random.nextInt(6)) {
            case 0 -> call.respond("ok");
            case 1 -> call.fail(BerthException.Kind.HANDLER_FAILED, "no");
            case 2 -> call.startStream(Headers.empty()); // and no more
            case 3 -> {
              call.startStream(Headers.empty());
              call.frame(Buffer.buffer("one"), random.nextBoolean());
            }
            case 4 -> {
              call.startStream(Headers.empty());
              call.reset(BerthException.Kind.HANDLER_FAILED);
            }
            default -> {} // never answers
          }
        });
  }

  /** The next call that reaches the replica; its response has begun. */
  Call nextStream() throws InterruptedException {
    Call call = nextCall();
    call.startStream(Headers.empty());
    return call;
  }

  /** The next call that reaches the replica. */
  Call nextCall() throws InterruptedException {
    Call call = arrived.poll(10, TimeUnit.SECONDS);
    if (call == null) {
      throw new AssertionError("no call reached the replica within 10 s");
    }
    return call;
  }

  private boolean send(String node, String address, BusMessage message) {
    if (message instanceof BusMessage.CallRequest request) {
      Call call = new Call(request);
      calls.put(request.callId(), call);
      if (!request.bodyFollows()) {
        call.whole = request.request().bytes();
        arrived(call);
      } else if (streaming) {
        arrived(call);
      } else {
        call.whole = Buffer.buffer().appendBuffer(request.request().bytes());
        call.credit(1L << 40);
      }
    } else if (message instanceof BusMessage.RequestFrame frame) {
      calls.get(frame.callId()).received(frame);
    } else if (message instanceof BusMessage.CancelCall cancel) {
      calls.get(cancel.callId()).cancels.add(cancel);
      answer( // else it is told again
          new BusMessage.CallFailed(
              cancel.callId(),
              BerthException.Kind.CANCELLED,
              "cancelled",
              -1,
              -1,
              LoadReport.NONE,
              null));
    } else if (message instanceof BusMessage.RecallCall recall) {
      answer(new BusMessage.CallAccepted(recall.callId(), LoadReport.of(0, SLOTS, 1)));
    } else if (message instanceof BusMessage.StreamCredit credit) {
      calls.get(credit.callId()).streamCredit(credit.limit());
    } else if (message instanceof BusMessage.ReserveSlot reserve) {
      answer(
          new BusMessage.SlotReserved(
              reserve.callId(),
              reserve.attempt(),
              reserve.target(),
              TOKEN,
              reserve.ttlMs() * 1_000,
              0,
              1));
    }
    return true;
  }

  private void arrived(Call call) {
    arrived.add(call);
    Consumer<Call> now = behaviour;
    if (now != null) {
      context.runOnContext(run -> now.accept(call));
    }
  }

  /** From now on calls arrive before their bodies, for which the test gives credit. */
  void streamRequests() {
    streaming = true;
  }

  private void answer(BusMessage message) {
    context.runOnContext(run -> loop().onMessage(message));
  }

  @Override
  public @Nullable Slots slotsOf(ReplicaAddress address) {
    return null; // it is elsewhere
  }

  @Override
  public void observe(ReplicaAddress address, SlotObserver observer) {}

  /** A call as the replica sees it. */
  final class Call {
    final BusMessage.CallRequest message;
    final BlockingQueue<BusMessage.CancelCall> cancels = new LinkedBlockingQueue<>();
    final BlockingQueue<Integer> credits = new LinkedBlockingQueue<>();
    final BlockingQueue<BusMessage.RequestFrame> frames = new LinkedBlockingQueue<>();
    private volatile @Nullable Buffer whole; // gathered, unless the test reads the frames
    private int sequence;
    private volatile long credited; // bytes of the response, in all
    private long poured; // of them

    Call(BusMessage.CallRequest message) {
      this.message = message;
      this.credited = message.streamWindow();
    }

    /** Bytes of the response that may be sent, in all. */
    long credited() {
      return credited;
    }

    private void streamCredit(long limit) {
      int more = (int) (limit - credited);
      credited = limit; // before whoever waits for it looks
      credits.add(more);
    }

    /** With its whole body, unless the test reads the frames. */
    Request request() {
      Request opening = message.request();
      Buffer all = whole;
      return all == null
          ? opening
          : Request.of(opening.method(), opening.path(), opening.query(), opening.headers(), all);
    }

    /** Accepts the body up to this byte after the first piece. */
    void credit(long limit) {
      answer(new BusMessage.RequestCredit(message.callId(), limit));
    }

    /** Sends what there is credit for until none comes: how many bytes. */
    long pour() throws InterruptedException {
      return pour(Long.MAX_VALUE);
    }

    /** The same of a body of so many bytes, in pieces of 8 KiB, within a first credit; goes on. */
    long pour(long most) throws InterruptedException {
      Buffer piece = Buffer.buffer(new byte[8 << 10]);
      for (Integer more = 0; more != null && poured < most; ) {
        for (; poured + piece.length() <= Math.min(credited, most); poured += piece.length()) {
          frame(piece, poured + piece.length() == most);
        }
        more = poured == most ? more : credits.poll(300, TimeUnit.MILLISECONDS);
      }
      return poured;
    }

    private void received(BusMessage.RequestFrame frame) {
      Buffer gathering = whole;
      if (gathering == null) {
        frames.add(frame);
        return;
      }
      gathering.appendBuffer(frame.data());
      if (frame.last()) {
        arrived(this);
      }
    }

    /** The next piece of the body. */
    BusMessage.RequestFrame nextFrame() throws InterruptedException {
      BusMessage.RequestFrame frame = frames.poll(10, TimeUnit.SECONDS);
      if (frame == null) {
        throw new AssertionError("no piece of the body came within 10 s");
      }
      return frame;
    }

    Admission admission() {
      return message.admission();
    }

    void respond(int status, Headers headers, Buffer body) {
      if (body.length() > LoopLimits.MAX_FRAME_BYTES) { // as a replica of the same instance does
        loop().streams.hold(body.length());
      }
      respond(status, headers, body, 0);
    }

    private void respond(int status, Headers headers, Buffer body, int follows) {
      Response response = Response.of(status, headers, new Response.Body.Whole(body));
      answer(
          new BusMessage.CallResponse(message.callId(), response, follows, LoadReport.NONE, null));
    }

    void respond(String text) {
      respond(200, Headers.of("content-type", "text/plain"), Buffer.buffer(text));
    }

    void fail(BerthException.Kind kind, String text) {
      answer(
          new BusMessage.CallFailed(message.callId(), kind, text, -1, -1, LoadReport.NONE, null));
    }

    void startStream(Headers headers) {
      startStream(200, headers);
    }

    void startStream(int status, Headers headers) {
      respond(status, headers, Buffer.buffer(), BusMessage.CallResponse.UNKNOWN);
    }

    /** The head of a body that was whole, and too large for one message. */
    void startWhole(int length) {
      respond(200, Headers.empty(), Buffer.buffer(), length);
    }

    /** All of a stream. */
    void stream(String... pieces) {
      startStream(Headers.empty());
      for (int piece = 0; piece < pieces.length; piece++) {
        frame(Buffer.buffer(pieces[piece]), piece == pieces.length - 1);
      }
    }

    void frame(Buffer data, boolean last) {
      answer(new BusMessage.StreamFrame(message.callId(), sequence++, data, last, LoadReport.NONE));
    }

    void reset(BerthException.Kind kind) {
      answer(new BusMessage.StreamReset(message.callId(), kind, "reset", LoadReport.NONE));
    }

    boolean cancelledWithin(int seconds) throws InterruptedException {
      return cancels.poll(seconds, TimeUnit.SECONDS) != null;
    }
  }
}
