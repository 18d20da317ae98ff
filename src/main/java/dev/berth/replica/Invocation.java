package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaMeters;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.HandlerTime;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * One request running on a replica. It owns the release of its slot: once, when the handler has
 * settled and its body, if it streams, is over.
 *
 * <pre>
 *   HANDLING --settled, whole response or failure--> ENDED (slot freed, then the answer is sent)
 *      |  +--settled, streamed response--> STREAMING --body done and last frame sent--> ENDED
 *      |                                      |
 *      +--cancel--> CANCELLED &lt;--cancel------+   the answer is no longer sent
 *                       +--handler settled and body done--> ENDED
 *                       +--cancel_grace_s--> counted as a zombie until then
 * </pre>
 *
 * Belongs to the replica's loop, but for what {@link RequestContext} and {@link #complete} say.
 */
sealed class Invocation implements RequestContext, Completable<Response>
    permits ExplainedInvocation {
  /** Statuses from here on are neither a good answer of the handler nor its failure. */
  private static final int SERVER_ERROR = 500;

  private static final Response.Body.Whole NOTHING = new Response.Body.Whole(Buffer.buffer(0));

  final HostedReplica host;
  final ReplicaLoop loop;
  final RouterPeer source;
  final long callId;
  final AttemptId attempt;
  private final String requestId;
  private final String methodName; // "" for the handler itself
  private final String sessionId; // "" for none
  private final Headers headers;
  private final long waitedMicros; // from its arrival at the router until it was sent
  private final int streamWindow; // bytes
  private final long startedAt; // on the loop's clock
  private final long deadline; // on the loop's clock, or NEVER

  // The loop's list of what runs, and when this one wants to be looked at.
  @Nullable Invocation previous;
  @Nullable Invocation next;
  long dueAt;

  private boolean slotHeld = true;
  private boolean handlerCalled;
  private boolean handlerSettled;
  private boolean bodyDone; // of a streamed response: its producer has settled
  private boolean ended;
  private boolean zombie;
  private volatile boolean cancelled; // written on the loop, read by handlers anywhere
  private long graceAt;
  private @Nullable IncomingBody body; // of a request that streams, or whose handler does
  private @Nullable ResponseStream stream;
  private @Nullable BlockingCall call;
  private @Nullable CancelAction cancelActions; // the newest; null when over
  private volatile @Nullable RequestLogger logger; // once it was asked for
  private volatile @Nullable Instant arrived; // likewise

  Invocation(HostedReplica host, RouterPeer source, CallRequest message, long now, long deadline) {
    this.host = host;
    this.loop = host.loop;
    this.source = source;
    this.callId = message.callId();
    this.attempt = message.attempt();
    this.requestId = message.requestId();
    this.methodName = message.methodName();
    this.sessionId = message.sessionId();
    this.headers = message.request().headers();
    this.waitedMicros = message.waitedMicros();
    this.streamWindow = message.streamWindow();
    this.startedAt = now;
    this.deadline = deadline;
    this.dueAt = deadline;
  }

  static Invocation of(
      HostedReplica host, RouterPeer source, CallRequest message, long now, long deadline) {
    return message.explained()
        ? new ExplainedInvocation(host, source, message, now, deadline)
        : new Invocation(host, source, message, now, deadline);
  }

  void runsOn(BlockingCall call) {
    this.call = call;
  }

  // --- the request's body ---

  /** Takes in a body that goes on after the request, or calls a handler that wants it streamed. */
  void receive(CallRequest message) {
    IncomingBody incoming;
    try {
      incoming = IncomingBody.of(this, message, host.streamsRequests(message.methodName()));
    } catch (IllegalArgumentException noJson) { // of a value that came as it is
      settled(null, noJson);
      return;
    }
    if (incoming == null) {
      breakOff(
          BerthException.Kind.BACK_PRESSURE,
          "stream_bytes_total: no room for a request's body (expected: at most "
              + loop.bodyBounds().maxStreamBytes()
              + " bytes under way)");
      return;
    }
    body = incoming;
    incoming.start();
  }

  /** Calls the handler. */
  void invoke(Request request) {
    handlerCalled = true;
    calling();
    host.invoke(request, this);
  }

  void requestFrame(RequestFrame frame) {
    if (body != null) {
      body.frame(frame);
    } else {
      loop.duplicateDropped(); // its body was whole
    }
  }

  boolean runsOnThread() {
    return host.runsOnThread(methodName());
  }

  int maxBufferedBytes() {
    return host.replica.maxBufferedBodyBytes();
  }

  /** The handler of a stream threw in a callback: it will not settle by itself. */
  void readerThrew(RuntimeException thrown) {
    if (!handlerSettled) {
      settled(null, thrown);
    } else if (stream != null && !ended) {
      bodyDone(thrown);
    } else {
      host.replica.logFailure("a reader of the request failed", thrown);
    }
  }

  // --- the handler settles ---

  /** From wherever the handler's future completes. */
  @Override
  public void complete(@Nullable Response response, @Nullable Throwable failure) {
    if (loop.isHere()) {
      settled(response, failure);
    } else {
      loop.execute(() -> settled(response, failure));
    }
  }

  /** The handler is done. On the loop, once. */
  void settled(@Nullable Response response, @Nullable Throwable failure) {
    if (handlerSettled) {
      return;
    }
    handlerSettled = true;
    settling();
    if (call != null && !call.writes()) {
      call = null;
    }
    if (cancelled) {
      if (response != null && response.body() instanceof Response.Body.Received received) {
        loop.execute(received.cancel()); // no one else would read it to its end
      }
      end();
      return;
    }
    if (failure != null) {
      answerFailure(failure);
      return;
    }
    try {
      respond(Objects.requireNonNull(response, "handler: null (expected: a response)"));
    } catch (RuntimeException malformed) { // a null where the API has none: the handler's fault
      if (ended) {
        throw malformed; // not the handler's: the answer could not be sent
      }
      if (stream == null) {
        answerFailure(malformed);
      } else {
        bodyDone(malformed);
      }
    }
  }

  private void respond(Response response) {
    Objects.requireNonNull(response.headers(), "headers: null (expected: headers)");
    Response.Body body = Objects.requireNonNull(response.body(), "body: null (expected: a body)");
    if (body instanceof Response.Body.Whole whole) {
      int length = whole.length();
      boolean large = length > ResponseStream.MAX_FRAME_BYTES;
      if (!large || loop.tryCarry(source, length)) {
        end(response.status() < SERVER_ERROR);
        if (!sendWhole(response) && large) {
          loop.streams().release(length);
        }
        return;
      }
      stream = new ResponseStream(this, response, streamWindow, loop.limits());
      bodyDone = true;
      stream.sendWhole(whole.bytes());
    } else if (body instanceof Response.Body.Received received) {
      stream = new ResponseStream(this, response, streamWindow, loop.limits());
      stream.relay(received);
    } else if (body instanceof Response.Body.Output) {
      throw new IllegalArgumentException("body: an output (expected: of a blocking handler)");
    } else {
      stream = new ResponseStream(this, response, streamWindow, loop.limits());
      produce(((Response.Body.Produced) body).producer(), stream);
    }
  }

  private void produce(Response.Producer producer, ResponseStream stream) {
    Future<Void> body;
    try {
      body = producer.writeTo(stream);
    } catch (Throwable thrown) { // user code: whatever it throws, its slot must come back
      bodyDone(thrown);
      return;
    }
    if (body == null) {
      bodyDone(new IllegalStateException("producer: null (expected: a future)"));
    } else if (body.isComplete()) {
      bodyDone(body.cause());
    } else {
      stream.open();
      body.onComplete(
          (none, failure) -> {
            if (loop.isHere()) {
              bodyDone(failure);
            } else {
              loop.execute(() -> bodyDone(failure));
            }
          });
    }
  }

  /** Whoever makes the streamed body is done with it, well when there is no failure. */
  void bodyDone(@Nullable Throwable failure) {
    if (bodyDone) {
      return;
    }
    bodyDone = true;
    ResponseStream body = Objects.requireNonNull(stream);
    if (cancelled) {
      end();
    } else if (failure == null) {
      body.finish();
    } else {
      boolean headSent = body.headSent();
      body.abandon();
      if (headSent) {
        BerthException told = failed(failure);
        end(false);
        send(new StreamReset(callId, told.kind(), message(told), load()));
      } else {
        answerFailure(failure);
      }
    }
  }

  private void answerFailure(Throwable failure) {
    BerthException told = failed(failure);
    end(false);
    send(CallFailed.of(callId, told, load(), time()));
  }

  private BerthException failed(Throwable failure) {
    BerthException told = host.replica.failureOf(failure);
    if (told.kind() == BerthException.Kind.HANDLER_FAILED) { // others are meant, or another's
      Throwable cause = told.getCause();
      host.requestFailed(cause == null ? "HandlerFailed" : cause.getClass().getName());
    }
    return told;
  }

  private static String message(BerthException failure) {
    String message = failure.getMessage();
    return message == null ? "" : message;
  }

  // --- what an explained one adds ---

  /** The handler is about to be called. */
  void calling() {}

  /** The handler has settled. */
  void settling() {}

  /** What its answer says of its time; null unless it is explained. */
  @Nullable HandlerTime time() {
    return null;
  }

  // --- what its stream asks for ---

  /**
   * @param length bytes of the body, or {@link CallResponse#UNKNOWN}
   */
  boolean sendHead(Response head, int length) {
    Response bodiless = head.withBody(NOTHING);
    return send(new CallResponse(callId, bodiless, length, load(), time()));
  }

  boolean sendWhole(Response whole) {
    return send(new CallResponse(callId, whole, 0, load(), time()));
  }

  boolean send(BusMessage message) {
    return loop.send(source, message);
  }

  long load() {
    return host.replica.slots().load();
  }

  /** Frees the slot, once; before the message that reports it as free. */
  void settleSlot() {
    if (slotHeld) {
      slotHeld = false;
      host.replica.settleSlot();
    }
  }

  /** The stream could not go on: its receiver is told, and the producer learns it by cancel. */
  void streamBroken(BerthException.Kind kind, String message) {
    boolean headSent = Objects.requireNonNull(stream).headSent();
    cancel();
    send(
        headSent
            ? new StreamReset(callId, kind, message, load())
            : new CallFailed(callId, kind, message, load(), time()));
  }

  void credit(long limit) {
    if (stream != null) {
      stream.credit(limit);
    }
  }

  // --- cancel, time, kill ---

  /**
   * The answer is no longer wanted. The caller was answered elsewhere; the slot stays taken until
   * the handler has settled.
   */
  void cancel() {
    if (cancelled || ended) {
      return;
    }
    cancelled = true;
    source.remove(this);
    graceAt = ReplicaLoop.plus(loop.now(), host.replica.cancelGraceNanos());
    dueAt = graceAt;
    loop.wakeAt(graceAt);
    runCancelActions();
    BlockingCall running = call;
    if (running != null && running.cancel()) {
      handlerSettled = true; // it never ran
    }
    if (body != null) {
      handlerSettled |= !handlerCalled; // it was being gathered
      body.close("request: cancelled (expected: still wanted)");
    } else if (!handlerCalled) {
      handlerSettled = true;
    }
    if (stream != null) {
      stream.abandon();
      bodyDone |= stream.isRelay();
    }
    if (handlerSettled && (stream == null || bodyDone)) {
      end();
    }
  }

  private void runGuarded(Runnable action) {
    loop.execute(
        () -> {
          try {
            action.run();
          } catch (Throwable thrown) {
            host.replica.logFailure("an onCancel action failed", thrown);
          }
        });
  }

  /** The replica is killed: the caller cannot know what became of its request. */
  void kill() {
    breakOff(
        BerthException.Kind.OUTCOME_UNKNOWN,
        "replica " + replicaId() + ": killed while it ran the request");
  }

  /** Ends the request from here: the caller is told why, and the handler is cancelled. */
  void breakOff(BerthException.Kind kind, String message) {
    if (cancelled || ended) {
      return;
    }
    boolean headSent = stream != null && stream.headSent();
    cancel();
    send(
        headSent
            ? new StreamReset(callId, kind, message, load())
            : new CallFailed(callId, kind, message, load(), time()));
  }

  /** A moment that was asked for has come. */
  void due(long now) {
    if (ended) {
      return;
    }
    if (cancelled) {
      if (!zombie && graceAt <= now && slotHeld) {
        zombie = true;
        host.replica.zombieFound();
      }
      dueAt = zombie ? ReplicaLoop.NEVER : graceAt;
      return;
    }
    if (deadline <= now) {
      outOfTime();
      return;
    }
    dueAt = deadline;
    if (body != null && stream == null) { // who is answered already may be silent
      body.due(now);
      if (!ended && !cancelled) {
        dueAt = Math.min(deadline, body.dueNanos(now));
      }
    }
    if (stream != null && !ended && !cancelled) {
      stream.due(now);
      if (!ended && !cancelled) {
        dueAt = Math.min(dueAt, stream.dueNanos());
      }
    }
  }

  /** Its deadline has passed: the router tells its caller by its own. */
  void outOfTime() {
    if (cancelled || ended) {
      return;
    }
    host.replica.timedOut();
    if (handlerCalled && !handlerSettled) {
      host.requestFailed("its time was over");
    }
    cancel();
  }

  void wakeAt(long moment) {
    if (moment < dueAt) {
      dueAt = moment;
      loop.wakeAt(moment);
    }
  }

  boolean hasEnded() {
    return ended;
  }

  /** Over: leaves the tables and frees the slot. The answer, if any, is sent after this. */
  void end() {
    end(true);
  }

  /**
   * @param well whether its answer speaks for the replica; one that is cancelled never does
   */
  private void end(boolean well) {
    if (ended) {
      return;
    }
    ended = true;
    if (!well || cancelled) {
      host.endsUnanswered();
    }
    for (CancelAction action = takeCancelActions(); action != null; action = action.before) {
      if (action.whenEnded != null) {
        runGuarded(action.whenEnded);
      }
    }
    source.remove(this);
    loop.remove(this);
    if (zombie) {
      host.replica.zombieSettled();
    }
    long now = loop.now();
    host.meters.ended(now - startedAt, now);
    if (body != null) {
      body.close("request: answered (expected: read before the answer)");
    }
    settleSlot();
  }

  // --- RequestContext: any thread ---

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public Optional<String> sessionId() {
    return sessionId.isEmpty() ? Optional.empty() : Optional.of(sessionId);
  }

  @Override
  public DeploymentId deployment() {
    return host.replica.deployment();
  }

  @Override
  public String methodName() {
    return methodName;
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public Instant arrivedAtRouter() {
    return arrivedAtReplica().minus(Math.max(0, waitedMicros), ChronoUnit.MICROS);
  }

  @Override
  public Instant arrivedAtReplica() {
    Instant known = arrived;
    if (known == null) {
      known = host.replica.wallClock().instant().minusNanos(loop.now() - startedAt);
      arrived = known;
    }
    return known;
  }

  @Override
  public String replicaId() {
    return host.replica.replicaId();
  }

  @Override
  public Optional<Duration> remaining() {
    if (deadline == ReplicaLoop.NEVER) {
      return Optional.empty();
    }
    return Optional.of(Duration.ofNanos(Math.max(0, deadline - loop.now())));
  }

  @Override
  public DeploymentHandle handle(String name) {
    return host.handle(name, this);
  }

  @Override
  public boolean cancelled() {
    return cancelled;
  }

  @Override
  public Runnable onCancel(Runnable task) {
    CancelAction action = new CancelAction(task, null);
    onLoop(() -> add(action));
    return () -> onLoop(() -> remove(action));
  }

  private void onLoop(Runnable task) {
    if (loop.isHere()) {
      task.run();
    } else {
      loop.execute(task);
    }
  }

  private void add(CancelAction action) {
    if (cancelled) {
      runGuarded(action.task);
    } else if (!ended) {
      action.linkBefore(cancelActions);
      cancelActions = action;
    }
  }

  private void runCancelActions() {
    for (CancelAction action = takeCancelActions(); action != null; action = action.before) {
      runGuarded(action.task);
    }
  }

  private @Nullable CancelAction takeCancelActions() {
    CancelAction oldest = cancelActions == null ? null : cancelActions.oldest();
    cancelActions = null;
    for (CancelAction action = oldest; action != null; action = action.before) {
      action.linked = false;
    }
    return oldest;
  }

  private void remove(CancelAction action) {
    if (action.linked && !ended) {
      cancelActions = action.unlinkFrom(cancelActions);
    }
  }

  @Override
  public Future<Void> after(Duration delay) {
    Delay waiting = new Delay(delay);
    onLoop(waiting::start);
    return waiting.done.future();
  }

  @Override
  public Logger logger() {
    RequestLogger made = logger;
    if (made == null) {
      made = new RequestLogger(host.replica.userLog(), requestId, replicaId(), sessionId);
      logger = made; // two threads may make one each: they are alike
    }
    return made;
  }

  @Override
  public ReplicaMeters meters() {
    return host.replica.meters();
  }

  /** One {@link #after}; as a cancel action it fails. */
  private final class Delay {
    final Promise<Void> done = Promise.promise();
    private final Duration length;
    private final CancelAction onCancel =
        new CancelAction(() -> stop("cancelled"), () -> stop("answered"));
    private @Nullable Runnable stopTimer;

    Delay(Duration length) {
      this.length = length;
    }

    void start() {
      if (ended) {
        stop("answered");
        return;
      }
      if (!cancelled) {
        stopTimer = loop.startTimer(Math.max(0, length.toNanos()), this::elapsed);
      }
      add(onCancel);
    }

    private void elapsed() {
      remove(onCancel);
      done.tryComplete();
    }

    private void stop(String what) {
      if (stopTimer != null) {
        stopTimer.run();
      }
      done.tryFail(new BerthException.Cancelled("request: " + what + " (expected: still wanted)"));
    }
  }
}
