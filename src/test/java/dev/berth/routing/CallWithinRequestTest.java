package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Headers;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.StreamedResponse;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Calls on behalf of a request that a handler runs. */
class CallWithinRequestTest {
  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica replica = world.local("a", 1);
  private final FakeParent parent = new FakeParent();
  private final DeploymentHandle handle = world.handle().within(parent);

  CallWithinRequestTest() {
    world.publish();
  }

  private BusMessage.CallRequest sent() {
    List<BusMessage.CallRequest> all = world.sent(BusMessage.CallRequest.class);
    return all.get(all.size() - 1);
  }

  @Test
  void aChildCarriesItsParentsRequestIdSessionAndTrace() {
    parent.sessionId = "s-1";
    parent.headers = Headers.of("traceparent", "00-1-2-01", "tracestate", "v=1", "cookie", "no");
    handle.call(Request.get("/child"));
    BusMessage.CallRequest child = sent();
    assertThat(child.requestId()).isEqualTo("parent-1");
    assertThat(child.sessionId()).isEqualTo("s-1");
    assertThat(child.request().headers().get("traceparent")).isEqualTo("00-1-2-01");
    assertThat(child.request().headers().get("tracestate")).isEqualTo("v=1");
    assertThat(child.request().headers().size()).isEqualTo(2);
  }

  @Test
  void whatTheOptionsAndTheRequestNameGoesFirst() {
    parent.sessionId = "s-1";
    parent.headers = Headers.of("traceparent", "00-1-2-01", "tracestate", "v=1");
    CallOptions own =
        CallOptions.defaults().withRequestId("own").withSessionId("s-2").withMethodName("count");
    Request traced =
        Request.of("GET", "/", null, Headers.of("traceparent", "00-9-9-01"), Buffer.buffer(0));
    handle.options(own).call(traced);
    assertThat(sent().requestId()).isEqualTo("own");
    assertThat(sent().sessionId()).isEqualTo("s-2");
    assertThat(sent().methodName()).isEqualTo("count");
    assertThat(sent().request().headers().get("traceparent")).isEqualTo("00-9-9-01");
    assertThat(sent().request().headers().get("tracestate")).isNull();
  }

  /** The ingress has limited them; a look at each would cost every child call. */
  @Test
  void receivedHeadersThatGoOnAreNotMeasuredAgain() {
    parent.headers = new Unread();
    Future<Response> response =
        world.settled(handle.call(Request.of("GET", "/", null, parent.headers, Buffer.buffer(0))));
    replica.finish();
    world.run();
    assertThat(response.succeeded()).isTrue();
  }

  private static final class Unread implements Headers {
    @Override
    public @Nullable String get(String name) {
      return null;
    }

    @Override
    public void forEach(BiConsumer<String, String> each) {
      throw new AssertionError("read");
    }

    @Override
    public int size() {
      throw new AssertionError("counted");
    }
  }

  @Test
  void theEarlierOfTheTwoDeadlinesHolds() {
    parent.remaining = Duration.ofSeconds(2);
    world.settled(handle.call(Request.get("/")));
    assertThat(sent().deadlineMicros()).isEqualTo(2_000_000);
    replica.finish();
    DeploymentHandle shorter = handle.withTimeout(Duration.ofSeconds(1));
    shorter.call(Request.get("/"));
    assertThat(sent().deadlineMicros()).isEqualTo(1_000_000);
  }

  /** Else calls that call one another in a ring would gain more than they take, and never end. */
  @Test
  void aChildGetsNoMoreThanAMicrosecondBeyondWhatIsLeft() {
    parent.remaining = Duration.ofNanos(300_400_001);
    world.settled(handle.call(Request.get("/")));
    assertThat(sent().deadlineMicros()).isEqualTo(300_401);
  }

  @Test
  void aChildEndsByItsParentsDeadline() {
    parent.remaining = Duration.ofSeconds(1);
    Future<Response> response = world.settled(handle.call(Request.get("/")));
    world.pass(Duration.ofMillis(1_050));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aParentWithoutTimeLeftMakesNoCall() {
    parent.remaining = Duration.ZERO;
    parent.cancel(); // as the runtime cancels who is out of time
    Future<Response> response = world.settled(handle.call(Request.get("/")));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.sent).isEmpty();
  }

  @Test
  void cancellingTheParentCancelsWhatRunsAndWhatWaits() {
    Future<Response> running = handle.call(Request.get("/1"));
    Future<Response> waiting = handle.call(Request.get("/2"));
    Future<ReplicaSelection> choosing = world.settled(handle.choose());
    assertThat(world.router.queued()).isEqualTo(2);

    world.run(parent::cancel);

    assertThat(running.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(waiting.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(choosing.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.cancelled).hasSize(1);
    world.assertAtRest(replica);
  }

  @Test
  void cancellingTheParentClosesItsSelection() {
    Future<ReplicaSelection> chosen = world.settled(handle.choose());
    assertThat(replica.ledger.ongoing()).isEqualTo(1);

    world.run(parent::cancel);

    world.assertAtRest(replica);
    Future<Response> dispatched = chosen.result().dispatch(Request.get("/"));
    assertThat(dispatched.cause()).isInstanceOf(BerthException.Cancelled.class);
  }

  @Test
  void cancellingTheParentCancelsADispatch() {
    Future<ReplicaSelection> chosen = world.settled(handle.choose());
    Future<Response> dispatched = world.settled(chosen.result().dispatch(Request.get("/")));
    world.run(parent::cancel);
    assertThat(dispatched.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aCancelledParentMakesNoMoreCalls() {
    parent.cancel();
    Future<Response> response = handle.call(Request.get("/"));
    Future<ReplicaSelection> chosen = world.settled(handle.choose());
    assertThat(response.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(chosen.cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(world.sent).isEmpty();
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aParentKnowsNoChildThatHasEnded() {
    for (int i = 0; i < 10; i++) {
      world.settled(handle.call(Request.get("/")));
      assertThat(parent.children()).isEqualTo(1);
      replica.finish();
      assertThat(parent.children()).isZero();
    }
    Future<ReplicaSelection> closed = world.settled(handle.choose());
    assertThat(parent.children()).isEqualTo(1);
    closed.result().close();
    assertThat(parent.children()).isZero();

    handle.choose(); // its lease runs out
    world.run();
    world.pass(Duration.ofSeconds(11));
    assertThat(parent.children()).isZero();

    Future<ReplicaSelection> used = world.settled(handle.choose());
    world.settled(used.result().dispatch(Request.get("/")));
    assertThat(parent.children()).as("the dispatch, in place of the selection").isEqualTo(1);
    replica.fail("no");
    assertThat(parent.children()).isZero();
  }

  @Test
  void aCallThatIsRefusedAtOnceLeavesNothingWithItsParent() {
    world.publish(false);
    Future<Response> response = world.settled(handle.call(Request.get("/")));
    assertThat(response.cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    assertThat(parent.children()).isZero();
  }

  @Test
  void whatASelectionIsForIsFixedWhenItIsChosen() {
    CallOptions count = CallOptions.defaults().withMethodName("count").withSessionId("s-3");
    Future<ReplicaSelection> chosen = world.settled(world.handle().options(count).choose());
    world.settled(chosen.result().dispatch(Request.get("/")));
    assertThat(sent().methodName()).isEqualTo("count");
    assertThat(sent().sessionId()).isEqualTo("s-3");
  }

  @Test
  void aSlotOnItsWayToACancelledChooseIsGivenBack() {
    world.handle().call(Request.get("/"));
    Pending<ReplicaSelection> choice = world.settled(world.handle().startChoose());
    replica.respond(); // hands the slot over; the task that takes it has not run
    world.run(choice::cancel);
    assertThat(choice.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void cancellingAChooseThatHasItsSelectionDoesNothing() {
    Pending<ReplicaSelection> choice = world.settled(world.handle().startChoose());
    world.run(choice::cancel);
    assertThat(choice.future().result().leaseRemaining()).isPositive();
    assertThat(replica.ledger.ongoing()).isEqualTo(1);
  }

  @Test
  void aWholeResponseIsAStreamOfOnePiece() {
    Future<StreamedResponse> streamed = world.settled(world.handle().stream(Request.get("/")));
    replica.finish();
    List<String> pieces = new ArrayList<>();
    List<String> ends = new ArrayList<>();
    streamed.result().body().endHandler(end -> ends.add("end"));
    streamed.result().body().handler(piece -> pieces.add(piece.toString()));
    assertThat(pieces).as("paused until it is resumed").isEmpty();
    streamed.result().body().resume();
    assertThat(streamed.result().status()).isEqualTo(200);
    assertThat(pieces).containsExactly("a");
    assertThat(ends).containsExactly("end");
  }
}
