package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RequestFrame;
import dev.berth.protocol.BusMessage.ResponseFields;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.HeadBytes;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.RelayedRequest;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.UpstreamNotRun;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One request running on a replica. It owns the release of its slot: once, when the handler has
 * settled and its response body, if streamed, is complete. {@link InvocationPhase} draws the
 * phases.
 *
 * <p>Confined to the replica's loop, except the methods of {@link RequestContext} and {@link
 * #complete}. Over 500 lines, because every exit frees the slot and sends one last message, and the
 * exits must be compared in one place.
 */
sealed class Invocation extends InvocationContext implements HandledRequest, RelayedRequest
    permits ExplainedInvocation {
  /** Lowest status that counts neither as a success of the handler nor as its failure. */
  private static final int SERVER_ERROR = 500;

  private static final String NO_THREAD = "no thread for a blocking handler";
  private static final Response.Body.Whole NOTHING = new Response.Body.Whole(Buffer.buffer(0));

  final LoopReplica host;
  final ReplicaLoop loop;
  final RouterSession source;
  final long callId;
  final AttemptId attempt;
  private final int streamWindow; // bytes

  // Links of the loop's list of running requests, and the time of the next call of due().
  @Nullable Invocation previous;
  @Nullable Invocation next;
  long dueAt;

  private InvocationPhase phase = InvocationPhase.GATHERING;
  private final boolean bodyFollows; // chunks of it follow the request message
  final boolean slotless;
  private char slots; // held, or places among the requests without a slot: 1 to 65 535; 0 once free
  private boolean zombie;
  private int wholeBytes; // of a body inside its request
  private int countedBytes; // of that body, in the budget after a cancel
  private long graceAt;
  private @Nullable IncomingBody body; // of a request that streams, or whose handler does
  private @Nullable ResponseStream stream;
  @Nullable Headers trailers; // of its stream
  @Nullable HandlerCall call; // of a handler that may block, or takes batches

  Invocation(LoopReplica host, RouterSession source, CallRequest message, long now, long deadline) {
    super(message, now, deadline);
    this.host = host;
    this.loop = host.loop;
    this.source = source;
    this.callId = message.callId();
    this.attempt = message.attempt();
    this.streamWindow = message.streamWindow();
    this.bodyFollows = message.bodyFollows();
    this.slotless = message.admission() == Admission.NoSlot.NO_SLOT;
    this.slots = (char) message.cost();
    this.dueAt = deadline;
  }

  // --- the request's body ---

  /** Receives a body that follows the request, or calls a handler that streams its request. */
  void receive(CallRequest message) {
    if (host.replica.isUpstream && !bodyFollows) {
      call(message.request(), null); // its relay takes a whole body
      return;
    }
    IncomingBody incoming;
    try {
      incoming = IncomingBody.of(this, message, host.streamsRequests(message.methodName()));
    } catch (IllegalArgumentException noJson) { // a value without a JSON form
      settle(null, noJson);
      return;
    }
    if (incoming == null) {
      breakOff(
          BerthException.Kind.BACK_PRESSURE,
          "stream_bytes_total: no room for a request's body (expected: at most "
              + loop.bodyBounds.windows().most
              + " bytes in flight)");
      return;
    }
    body = incoming;
    incoming.start();
  }

  /**
   * Calls the handler, unless a whole body exceeds the limit of the deployment.
   *
   * @param seat the batch in which the request has a seat; null for none
   */
  void invoke(Request request, @Nullable BatchGroup seat) {
    int max = host.replica.limits().maxBufferedBodyBytes();
    if (request.body() instanceof Request.Body.Whole whole) {
      if (whole.length() > max && sizeOf(whole) > max) { // the length of a value is a bound
        refuseLarge(max);
        BatchRunner.giveUp(seat);
        return;
      }
      wholeBytes = body == null ? whole.length() : 0;
    }
    call(request, seat);
  }

  private void call(Request request, @Nullable BatchGroup seat) {
    BatchRunner batches = host.replica.batches;
    HandlerInvoker batched = batches == null ? null : host.batched(methodName());
    if (batched != null) {
      batches.join(batched, request, this, seat);
      return;
    }
    BatchRunner.giveUp(seat);
    become(InvocationPhase.HANDLING);
    calling();
    host.invoke(request, this);
  }

  @Override
  public void onBatchStart() {
    if (phase == InvocationPhase.GATHERING) {
      become(InvocationPhase.HANDLING);
      calling();
    }
  }

  private static int sizeOf(Request.Body.Whole whole) {
    try {
      return whole.bytes().length();
    } catch (IllegalArgumentException noJson) { // a value, passed by reference
      return 0;
    }
  }

  void refuseLarge(int max) {
    breakOff(
        BerthException.Kind.PAYLOAD_TOO_LARGE,
        "Request body is larger than %s bytes, the limit of this deployment.".formatted(max));
  }

  void requestFrame(RequestFrame frame) {
    if (body != null) {
      body.frame(frame);
    } else {
      loop.duplicateDropped(); // its body was complete
    }
  }

  /** Settles a request whose handler threw in a stream callback and would not settle by itself. */
  void readerThrew(RuntimeException thrown) {
    if (isUnsettled()) {
      settle(null, thrown);
    } else if (stream != null && !hasEnded()) {
      bodyDone(thrown);
    } else {
      host.replica.failures.add("a reader of the request failed", thrown, this);
    }
  }

  @Override
  public void calledBy(HandlerCall running) {
    call = running;
  }

  // --- the handler settles ---

  /** Settles the request, on whichever thread the handler's future completes. */
  @Override
  public void complete(@Nullable Response response, @Nullable Throwable failure) {
    if (loop.isHere()) {
      settle(response, failure);
    } else {
      loop.ports.loop().executeFor(this, () -> settle(response, failure));
    }
  }

  @Override
  public void settle(@Nullable Response response, @Nullable Throwable failure) {
    if (!isUnsettled()) {
      return;
    }
    become(InvocationPhase.ANSWERING);
    settling();
    if (call != null && !call.outlastsSettling()) {
      call = null;
    }
    if (cancelled()) {
      settleCancelled(response);
      return;
    }
    if (failure != null) {
      answerFailure(failure);
      return;
    }
    try {
      respond(Objects.requireNonNull(response, "handler: null (expected: a response)"));
    } catch (RuntimeException malformed) { // a null that the API forbids: fault of the handler
      if (hasEnded()) {
        throw malformed; // not the handler's: sending failed
      }
      if (stream == null) {
        answerFailure(malformed);
      } else {
        bodyDone(malformed);
      }
    }
  }

  /** Ends a cancelled request. An upstream holds the slot until its producer is done. */
  private void settleCancelled(@Nullable Response response) {
    Response.Body body = response == null ? null : response.body();
    if (response != null
        && host.replica.isUpstream
        && body instanceof Response.Body.Produced produced) {
      ResponseStream ended = new ResponseStream(this, response, streamWindow);
      stream = ended;
      ended.abandon();
      produce(produced.producer(), ended);
      return;
    }
    if (body instanceof Response.Body.Received received) {
      loop.execute(received.cancel()); // no other reader would consume it
    }
    end();
  }

  private void respond(Response response) {
    Objects.requireNonNull(response.headers(), "headers: null (expected: headers)");
    Response.Body body = Objects.requireNonNull(response.body(), "body: null (expected: a body)");
    HeadBytes.check(response.headers());
    if (body instanceof Response.Body.Whole whole) {
      int length = whole.length();
      boolean large = length > BodyMemoryLimits.MAX_FRAME_BYTES;
      if (!large && source.elsewhere) {
        respondElsewhere(response, whole);
        return;
      }
      if (!large || loop.tryCarry(source, length)) {
        end(response.status() < SERVER_ERROR);
        if (!sendWhole(response) && large) {
          loop.streams.release(length);
        }
        return;
      }
      stream = new ResponseStream(this, response, streamWindow);
      become(InvocationPhase.SENDING);
      stream.sendWhole(whole.bytes());
    } else if (body instanceof Response.Body.Received received) {
      stream = new ResponseStream(this, response, streamWindow);
      stream.relay(received);
    } else if (body instanceof Response.Body.Produced produced) {
      stream = new ResponseStream(this, response, streamWindow);
      produce(produced.producer(), stream);
    } else {
      throw new IllegalArgumentException("body: an output (expected: of a blocking handler)");
    }
  }

  /** Responds in one message, or as a retrying stream while the link accepts no message. */
  private void respondElsewhere(Response response, Response.Body.Whole body) {
    settleSlot();
    if (sendWhole(response)) {
      end(response.status() < SERVER_ERROR);
    } else if (!isOver()) { // else it has no wire form
      stream = new ResponseStream(this, response, streamWindow);
      become(InvocationPhase.SENDING);
      stream.sendWhole(body.bytes());
    }
  }

  private void produce(Response.Producer producer, ResponseStream stream) {
    Future<Void> body;
    try {
      body = stream.produce(producer);
    } catch (Throwable thrown) { // user code: its slot must become free after any exception
      bodyDone(thrown);
      return;
    }
    if (body == null) {
      bodyDone(new IllegalStateException("producer: null (expected: a future)"));
    } else if (body.isComplete()) {
      bodyDone(body.cause());
    } else {
      body.onComplete(
          (none, failure) -> {
            if (loop.isHere()) {
              bodyDone(failure);
            } else {
              loop.execute(() -> bodyDone(failure));
            }
          });
      stream.flush();
    }
  }

  /** Handles the end of the streamed body; {@code failure} is null on success. */
  void bodyDone(@Nullable Throwable failure) {
    if (phase.ordinal() >= InvocationPhase.SENDING.ordinal()) {
      return;
    }
    become(InvocationPhase.SENDING);
    ResponseStream body = Objects.requireNonNull(stream);
    if (cancelled()) {
      end();
    } else if (failure == null) {
      if (host.replica.isUpstream) {
        settleSlot(); // bytes read ahead no longer occupy the upstream
      }
      body.finish();
    } else {
      boolean headSent = body.sendCompleted();
      if (isOver()) {
        return; // the head has no wire form
      }
      body.abandon();
      if (headSent) {
        BerthException told = recordFailure(failure);
        end(false);
        loop.sendLast(
            source,
            new StreamReset(
                callId, told.kind(), Objects.requireNonNullElse(told.getMessage(), ""), load()));
      } else {
        answerFailure(failure);
      }
    }
  }

  private void answerFailure(Throwable thrown) {
    if (thrown instanceof UpstreamNotRun notRun && !bodyFollows) {
      refuseNotRun(notRun);
      return;
    }
    Throwable failure = thrown instanceof UpstreamNotRun notRun ? notRun.asBackPressure() : thrown;
    BerthException told = recordFailure(failure);
    end(false);
    loop.sendLast(source, CallFailed.of(callId, told, load(), time()));
  }

  /** Refuses a request that its upstream did not run; it counts neither as success nor failure. */
  private void refuseNotRun(UpstreamNotRun failure) {
    become(InvocationPhase.ENDED);
    runEndActions();
    leave();
    loop.sendLast(source, new CallRefused(callId, Refusal.NOT_RUN, load(), failure.reason()));
  }

  BerthException recordFailure(Throwable failure) {
    BerthException told = host.replica.failureOf(failure, this);
    if (told.kind() == BerthException.Kind.HANDLER_FAILED) { // others: intended, or not its own
      Throwable cause = told.getCause();
      host.requestFailed(cause == null ? "HandlerFailed" : cause.getClass().getName());
    }
    return told;
  }

  // --- extensions of an explained invocation ---

  /** Called before the handler is called. */
  void calling() {}

  /** Called after the handler has settled. */
  void settling() {}

  /** Returns the handler times for the response; null unless the invocation is explained. */
  @Nullable HandlerTime time() {
    return null;
  }

  // --- calls of its stream ---

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

  /**
   * Sends a part of the response. A part without a wire form breaks off the request, since another
   * send would fail as well.
   *
   * @return whether the link accepted the part
   */
  boolean send(BusMessage message) {
    SendResult result = loop.send(source, message);
    if (result.kind() == SendResult.SendResultKind.UNFIT) {
      breakOff(
          BerthException.Kind.HANDLER_FAILED, "the response could not be sent: " + result.reason());
    }
    return result.isSent();
  }

  @Override
  public void passFields(int status, Headers fields) {
    if (status == 0) {
      trailers = fields;
    } else if (!isOver() && stream == null) {
      send(new ResponseFields(callId, status, fields));
    }
  }

  long load() {
    return host.replica.slots().load();
  }

  /** Frees the slots, once, before the message that reports them as free. */
  void settleSlot() {
    int held = slots;
    if (held > 0) {
      slots = 0;
      host.replica.settle(slotless, held);
    }
  }

  @Override
  public int takeSlots() {
    if (slotless) {
      settleSlot();
      return 0;
    }
    int held = slots;
    slots = 0;
    return held;
  }

  void credit(long limit) {
    if (stream != null) {
      stream.credit(limit);
    }
  }

  // --- cancel, timeout, kill ---

  /**
   * Cancels a request whose response is no longer needed. The caller already has a reply from
   * elsewhere. The slot stays occupied until the handler has settled.
   */
  void cancel() {
    if (isOver()) {
      return;
    }
    cancelled = true;
    source.remove(this);
    graceAt = plus(loop.now(), host.replica.limits().cancelGraceNanos());
    dueAt = graceAt;
    loop.wakeAt(graceAt);
    runCancelActions();
    HandlerCall running = call;
    boolean over =
        running != null && running.cancel() // the handler never ran
            || switch (phase) {
              case GATHERING -> running == null; // else its batch has started
              case SENDING, ENDED -> true;
              case HANDLING -> false;
              case ANSWERING -> stream == null || stream.isRelay();
            };
    if (body != null) {
      body.close("request: cancelled (expected: still wanted)");
    }
    if (stream != null) {
      stream.abandon();
    }
    if (over) {
      end();
    } else if (countedBytes == 0) { // the ingress no longer counts the body
      countedBytes = wholeBytes;
      loop.bodyBounds.gathered().take(countedBytes);
    }
  }

  /**
   * Breaks off the request of a killed replica: its outcome is unknown to the caller. A request
   * whose batch has not started may run elsewhere, and one with a result responds.
   */
  void kill() {
    if (phase == InvocationPhase.HANDLING && slots == 0) {
      return; // after takeSlots
    }
    if (phase == InvocationPhase.GATHERING && !cancelled() && call != null && call.cancel()) {
      settle(null, new UpstreamNotRun("replica " + replicaId() + ": stopped before a batch", -1));
      return;
    }
    breakOff(
        BerthException.Kind.OUTCOME_UNKNOWN,
        "replica " + replicaId() + ": killed while it ran the request");
  }

  /**
   * Ends the request from here: sends the reason to the caller, and cancels the handler or the
   * producer of the stream.
   */
  @Override
  public void breakOff(BerthException.Kind kind, String message) {
    if (isOver()) {
      return;
    }
    boolean headSent = stream != null && stream.headSent();
    cancel();
    loop.sendLast(
        source,
        headSent
            ? new StreamReset(callId, kind, message, load())
            : new CallFailed(callId, kind, message, -1, -1, load(), time()));
  }

  @Override
  public void refuse(UpstreamNotRun failure) {
    if (!isOver() && stream == null) {
      cancel();
      loop.sendLast(
          source,
          bodyFollows
              ? CallFailed.of(callId, failure.asBackPressure(), load(), time())
              : new CallRefused(callId, Refusal.NOT_RUN, load(), failure.reason()));
    }
  }

  /** Handles the passing of {@code dueAt}. */
  void due(long now) {
    if (hasEnded()) {
      return;
    }
    if (cancelled()) {
      if (!zombie && graceAt <= now && slots > 0) {
        zombie = true;
        host.replica.zombieFound();
      }
      dueAt = zombie ? NEVER : graceAt;
      return;
    }
    if (deadline <= now) {
      outOfTime();
      return;
    }
    dueAt = deadline;
    if (body != null && stream == null) { // during a response the body may be idle
      wakeAt(body.due(now));
    }
    if (stream != null && !isOver()) {
      wakeAt(stream.due(now));
    }
  }

  /** Ends a request past its deadline. Its router fails the call by its own clock. */
  void outOfTime() {
    if (isOver()) {
      return;
    }
    host.replica.timedOut();
    if (phase == InvocationPhase.HANDLING) {
      host.requestFailed("its deadline passed");
    }
    cancel();
  }

  void wakeAt(long moment) {
    if (moment < dueAt) {
      dueAt = moment;
      loop.wakeAt(moment);
    }
  }

  private void become(InvocationPhase next) {
    assert loop.isHere();
    assert phase.mayBecome(next) : phase + " to " + next;
    phase = next;
    if (next == InvocationPhase.SENDING && call != null) {
      call.onEnded(); // a slow reader delays no batch
    }
  }

  /** Returns whether the handler has not settled; it may not have been called. */
  private boolean isUnsettled() {
    return phase.ordinal() <= InvocationPhase.HANDLING.ordinal();
  }

  @Override
  boolean hasEnded() {
    return phase == InvocationPhase.ENDED;
  }

  /** Returns whether the response is no longer needed. */
  private boolean isOver() {
    return cancelled() || hasEnded();
  }

  /**
   * Ends a request that got no thread for its handler, which never runs. The router may retry it
   * elsewhere unless a body was read for it.
   */
  @Override
  public void notCalled(Throwable noThread) {
    host.replica.failures.add(NO_THREAD, noThread, this);
    become(InvocationPhase.ENDED);
    leave();
    loop.sendLast(
        source,
        body == null
            ? new CallRefused(callId, Refusal.OVERLOADED, load())
            : new CallFailed(
                callId, BerthException.Kind.BACK_PRESSURE, NO_THREAD, -1, -1, load(), time()));
  }

  /** Ends the request: leaves the tables and frees the slot. A response is sent after this. */
  void end() {
    end(true);
  }

  /**
   * @param well whether the response counts as a success of the replica; never after a cancel
   */
  private void end(boolean well) {
    if (hasEnded()) {
      return;
    }
    become(InvocationPhase.ENDED);
    if (!well || cancelled()) {
      host.endsUnanswered();
    }
    runEndActions();
    if (zombie) {
      host.replica.zombieSettled();
    }
    long now = loop.now();
    host.meters.recordDuration(now - startedAt, now);
    leave();
  }

  private void leave() {
    source.remove(this);
    loop.remove(this);
    loop.bodyBounds.gathered().give(countedBytes);
    countedBytes = 0;
    if (body != null) {
      body.close("request: completed (expected: read before the response)");
    }
    settleSlot();
    if (call != null) {
      call.onEnded();
    }
  }

  // --- calls of the handler ---

  @Override
  public DeploymentHandle handle(String name) {
    return host.handle(name, this);
  }

  @Override
  ReplicaRuntime replica() {
    return host.replica;
  }

  @Override
  public LoopDependencies ports() {
    return loop.ports;
  }

  @Override
  long moment() {
    return loop.now();
  }
}
