package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import dev.berth.routing.CallObserver;
import dev.berth.routing.ChooseOperation;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.simulation.Executions.Execution;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * One request as its caller sees it, from the ask to the one answer. What the caller may conclude
 * from an answer is checked when it comes and again when the run is over.
 */
final class Op implements CallObserver {
  final String requestId;
  private final long arrivedNanos;
  final SimulatedInstance at;
  final int loopIndex;
  final SimulatedLoop loop;
  final long deadlineNanos; // of the virtual clock, or NO_DEADLINE

  /** A message, a wake-up, and some. */
  private static final long CANCEL_ARRIVES_NANOS = 20_000_000;

  static final long NO_DEADLINE = Long.MAX_VALUE;

  private final Simulation on;
  private final Reading reading;

  final int cost;
  @Nullable SimulatedSource source; // of a body that streams
  boolean largeHead; // of its request: no replica may run it, wherever it is
  boolean longBody; // or may be: then it leaves in pieces, as one that streams
  @Nullable RoutedCall call;
  @Nullable ChooseOperation choice;
  @Nullable ReplicaSelection selection;
  @Nullable Pending<Response> handleCall;
  final @Nullable FakeParent parent; // of half of them: what their handles call within
  private final FakeParent explainer = new FakeParent(); // of chooses: it is never cancelled
  private @Nullable RequestRecorder recorder; // of calls that are as the ingress makes them
  boolean dispatched;
  boolean vanished; // its caller does nothing more
  boolean cancelAsked;
  private @Nullable Phase cancelledIn; // while it is not known whether that ended it
  private @Nullable Phase vanishedIn; // while it is not known whether anything was left undone
  private boolean lost;
  private boolean answered; // the one terminal answer has come: a head, a failure, or a close
  private boolean streaming;
  private Response.Body.@Nullable Received stream;
  private boolean over;
  private @Nullable BerthException failure;
  private @Nullable Response response;
  private String answeredBy = "";
  private String routedTo = ""; // of calls that it makes itself, and not through a handle
  private Phase phaseBefore = Phase.QUEUE;
  private long bytesRead;
  private final StringBuilder tail = new StringBuilder();

  /** How a caller reads a stream. */
  enum Reading {
    FLOWING,
    PIECE_BY_PIECE,
    CANCEL_HALFWAY,
    NEVER
  }

  Op(
      Simulation on,
      String requestId,
      SimulatedInstance at,
      int loopIndex,
      long deadlineNanos,
      Reading reading) {
    this.on = on;
    this.requestId = requestId;
    this.arrivedNanos = on.world.getAsLong();
    this.at = at;
    this.loopIndex = loopIndex;
    this.loop = at.loops.get(loopIndex);
    this.deadlineNanos = deadlineNanos;
    this.reading = reading;
    int drawn = Math.floorMod(requestId.hashCode() * 31, 16); // most take one slot
    this.cost = on.weighted && drawn < 5 ? 1 + drawn * (on.batching ? 3 : 1) : 1;
    this.parent = requestId.hashCode() % 2 == 0 ? new FakeParent() : null;
    explain(parent);
    explain(explainer);
  }

  @Override
  public int cost() {
    return cost;
  }

  private SimulationFailure fail(String what) {
    return on.world.fail(requestId + ": " + what);
  }

  // --- how it is explained ---

  private static final int CALLS = 1_000;

  private void explain(@Nullable FakeParent of) {
    if (of != null) {
      of.requestId = requestId;
      of.explainedCalls = CALLS;
    }
  }

  /** What a choose is made within; null for some, so that they are not explained. */
  @Nullable FakeParent explainer() {
    return requestId.hashCode() % 3 == 0 ? null : explainer;
  }

  @Override
  public RequestRecorder explaining() {
    RequestRecorder made =
        at.router.explained(at.routers.loop(loopIndex), requestId, "GET /", on.world.getAsLong());
    recorder = made;
    return made;
  }

  private void recorded() {
    if (recorder != null) {
      recorder.end(200);
    }
  }

  /** How many records there are of it, now that it is over. */
  int explainedCalls() {
    int calls = CALLS - explainer.explainedCalls;
    if (parent != null) {
      calls += CALLS - parent.explainedCalls;
    }
    return calls + (recorder != null && over ? 1 : 0);
  }

  // --- where it is ---

  /** How far it is, for the table of faults; only while {@link #active}. */
  Phase phase() {
    if (streaming) {
      return Phase.STREAM;
    }
    if (on.executions.of(requestId) != null) {
      return Phase.RESPOND;
    }
    if (dispatched) {
      return Phase.CONSUME;
    }
    if (selection != null) {
      return Phase.HELD;
    }
    Object request = call != null ? call : choice;
    if (request == null || !RoutingProbe.isSent(request)) {
      return Phase.QUEUE;
    }
    return choice != null ? Phase.RESERVE : Phase.DISPATCH;
  }

  /** The replica it is at; empty while it is at none. */
  String replica() {
    ReplicaSelection chosen = selection;
    if (chosen != null) {
      return chosen.replicaId();
    }
    Execution execution = on.executions.of(requestId);
    if (execution != null) {
      return execution.replicaId;
    }
    Object request = call != null ? call : choice;
    return request == null ? "" : RoutingProbe.target(request);
  }

  /** Notes how far it is before something happens to it. */
  void remember() {
    phaseBefore = phase();
  }

  boolean active() {
    return !over && !vanished;
  }

  boolean over() {
    return over;
  }

  boolean answered() {
    return answered;
  }

  boolean hasDeadline() {
    return deadlineNanos != NO_DEADLINE;
  }

  /** When it would have been by its deadline for long; the clock may overflow, so not by size. */
  long lateNanos() {
    return hasDeadline() ? on.world.getAsLong() - deadlineNanos : Long.MIN_VALUE;
  }

  /** Reads no more of a stream; false when there is none. */
  boolean stopReading() {
    Response.Body.Received read = stream;
    if (read == null || over) {
      return false;
    }
    read.cancel().run();
    return true;
  }

  // --- as whoever makes a call ---

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }

  @Override
  public long deadlineNanos() {
    return deadlineNanos;
  }

  @Override
  public void onRouted(String replicaId) {
    if (!routedTo.isEmpty() || answered) {
      throw fail("routed to " + replicaId + " (expected: once, and before its answer)");
    }
    routedTo = replicaId;
  }

  // --- answers ---

  @Override
  public void onResponse(Response received, String replicaId) {
    answer("response");
    on.coverage.seen(Transition.RESPONSE);
    response = received;
    answeredBy = replicaId;
    // Of one that was killed with the request on its way it is not known, where that is done.
    boolean stays = on.orderly && !on.upstreams;
    if (stays ? !replicaId.equals(routedTo) : replicaId.isEmpty() != routedTo.isEmpty()) {
      throw fail("answered by " + replicaId + ", routed to " + routedTo);
    }
    if (received.body() instanceof Response.Body.Whole whole) {
      over = true;
      recorded();
      checkBody(whole.bytes().toString(), whole.bytes().length());
    } else if (received.body() instanceof Response.Body.Received stream) {
      streaming = true;
      this.stream = stream;
      read(stream);
    }
  }

  @Override
  public void onFailure(BerthException failed) {
    answer("failure");
    over = true;
    recorded();
    failure = failed;
    on.coverage.seen(Transition.ofFailure(failed));
    if (failed instanceof BerthException.Timeout && !vanished) {
      on.coverage.fault(Fault.TIMEOUT, phaseBefore);
    }
    cancelTook(failed);
    on.world.note("failed", requestId + " " + failed.kind());
    if (failed.kind() == BerthException.Kind.CANCELLED) {
      on.world.after(CANCEL_ARRIVES_NANOS, "cancelled", this::checkCancelled);
    }
  }

  /** Where no message is lost, a cancel reaches what still runs. */
  private void checkCancelled() {
    Execution execution = on.executions.of(requestId);
    if (on.orderly && execution != null && !execution.settled && !execution.context.cancelled()) {
      throw fail("cancelled, but it runs on and knows nothing");
    }
  }

  /** A choose succeeded: for its caller that is the answer of the choose, and not yet the end. */
  void selected(ReplicaSelection chosen) {
    if (selection != null || over) {
      throw fail("chosen twice, or after its end");
    }
    selection = chosen;
    on.coverage.seen(Transition.SELECTION);
    on.world.note("selected", requestId + " at " + chosen.replicaId());
  }

  /** The caller is done with its selection without a dispatch. */
  void finishedWithoutDispatch() {
    answer("closed");
    over = true;
  }

  // --- how it is given up ---

  /** Its caller cancels it, now that it is this far. */
  void cancelling(Phase phase) {
    cancelAsked = true;
    cancelledIn = phase;
  }

  private void cancelTook(BerthException end) {
    if (cancelledIn != null && end.kind() == BerthException.Kind.CANCELLED) {
      on.coverage.fault(Fault.CANCEL, cancelledIn);
    }
    cancelledIn = null;
  }

  /** Its caller does nothing more. */
  void vanish() {
    vanishedIn = phase();
    vanished = true;
    if (stream != null) {
      stream.stream().pause();
      leftUndone();
    }
  }

  /** Whether its caller, whose turn it is to do something, is there and not answered. */
  boolean wantsMore() {
    if (vanished && !over && !answered) {
      leftUndone();
    }
    return active() && !answered;
  }

  /** What its caller would have done now was not done, as there is none any more. */
  void leftUndone() {
    if (vanishedIn != null) {
      on.coverage.fault(Fault.VANISH, vanishedIn);
      vanishedIn = null;
    }
  }

  private void answer(String how) {
    on.world.failIf(answered, () -> requestId + ": a second answer: " + how + " (expected: one)");
    answered = true;
    if (!hasDeadline()) {
      on.coverage.seen(Transition.ANSWERED_WITHOUT_DEADLINE);
    }
    on.world.note("answered", requestId + " " + how);
  }

  // --- reading a stream ---

  private void read(Response.Body.Received stream) {
    if (vanished) {
      leftUndone();
    } else if (reading == Reading.NEVER) {
      vanish();
    }
    stream.stream().endHandler(none -> streamEnded());
    stream.stream().exceptionHandler(this::streamCut);
    stream.stream()
        .handler(
            piece -> {
              took(piece);
              if (reading == Reading.CANCEL_HALFWAY && bytesRead > 10) {
                cancelling(Phase.STREAM);
                stream.cancel().run();
              } else if (reading == Reading.PIECE_BY_PIECE) {
                loop.start(2_000_000, () -> fetch(stream));
              }
            });
    if (vanished) {
      return;
    }
    switch (reading) {
      case FLOWING, CANCEL_HALFWAY -> stream.stream().resume();
      case PIECE_BY_PIECE -> stream.stream().fetch(1);
      case NEVER -> {}
    }
  }

  private void fetch(Response.Body.Received stream) {
    if (!vanished) {
      stream.stream().fetch(1);
    }
  }

  private void took(Buffer piece) {
    on.world.failIf(over, () -> requestId + ": a piece after the end of its stream");
    bytesRead += piece.length();
    tail.append(piece);
    if (tail.length() > 200) {
      tail.delete(0, tail.length() - 200);
    }
  }

  private void streamEnded() {
    endStream();
    on.coverage.seen(Transition.STREAM_COMPLETE);
    checkBody(tail.toString(), bytesRead);
  }

  private void streamCut(Throwable why) {
    endStream();
    on.coverage.seen(Transition.STREAM_CUT);
    if (!(why instanceof BerthException cut)) {
      throw on.world.fail(requestId + ": its stream failed with a foreign kind", why);
    }
    cancelTook(cut);
    if (cut instanceof BerthException.Timeout) {
      on.coverage.fault(Fault.TIMEOUT, Phase.STREAM);
    }
  }

  private void endStream() {
    on.world.failIf(over, () -> requestId + ": its stream ended twice");
    over = true;
    recorded();
    on.world.note("stream over", requestId);
  }

  // --- what the answer says ---

  /** A chosen replica runs the request or nobody does; and no one else gives its slot back. */
  private void checkChoice() {
    ReplicaSelection chosen = selection;
    Execution execution = on.executions.of(requestId);
    if (chosen != null && execution != null && !execution.replicaId.equals(chosen.replicaId())) {
      throw fail("chose " + chosen.replicaId() + ", but it ran on " + execution.replicaId);
    }
    BerthException told = failure;
    if (told instanceof BerthException.ReservationExpired
        && String.valueOf(told.getMessage()).endsWith(": RELEASED")) {
      throw fail("its slot was released, but it held it");
    }
  }

  private void checkBody(String text, long bytes) {
    Execution execution = on.executions.of(requestId);
    on.world.failIf(execution == null, () -> requestId + ": answered, but it never ran");
    if (bytes != execution.bytesWritten || !text.endsWith("#end") || !text.contains(requestId)) {
      throw on.world.fail(
          "%s: %s bytes (expected: the %s its handler wrote, its own id and the end)"
              .formatted(requestId, bytes, execution.bytesWritten));
    }
    if (!answeredBy.isEmpty() && !answeredBy.equals(execution.replicaId)) {
      throw fail("answered by " + answeredBy + ", but it ran on " + execution.replicaId);
    }
  }

  /** Its instance died, and it with it. */
  void lose() {
    vanished = true;
    lost = true;
  }

  boolean lost() {
    return lost;
  }

  /** When all is over: a request that was said not to have run has not, late messages included. */
  void checkAtEnd() {
    checkChoice();
    if (largeHead && on.executions.of(requestId) != null) {
      throw fail("ran with a head over the limit");
    }
    if (response != null && response.headers().get("x-large") != null) {
      throw fail("answered with a head over the limit");
    }
    if (parent != null && over && !lost && parent.children() > 0) {
      throw fail("over, but its parent would still cancel it");
    }
    BerthException told = failure;
    if (told == null) {
      return;
    }
    boolean saidNotRun =
        switch (told.kind()) {
          case DEPLOYMENT_UNAVAILABLE,
              BACK_PRESSURE,
              REPLICA_UNAVAILABLE,
              RESERVATION_EXPIRED,
              NO_SUCH_METHOD,
              PAYLOAD_TOO_LARGE,
              COST_TOO_LARGE ->
              true;
          case OUTCOME_UNKNOWN, CANCELLED, TIMEOUT, HANDLER_FAILED -> false;
        };
    if (saidNotRun && on.executions.of(requestId) != null) {
      throw fail(
          "failed with "
              + told.kind()
              + " ("
              + told.getMessage()
              + "), which says it did not run, but it ran");
    }
    boolean ownFault =
        source != null && source.failed() // its body, and not its handler
            || String.valueOf(told.getMessage()).startsWith("the request could not be sent: ");
    if (told.kind() == BerthException.Kind.HANDLER_FAILED
        && on.executions.of(requestId) == null
        && !ownFault) {
      throw fail("its handler failed, but it never ran");
    }
  }

  @Override
  public String toString() {
    return requestId + " at " + loop + (vanished ? " (vanished)" : "");
  }
}
