package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BlockingHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.Answering;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.RequestOrigin;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What a handler is told of its request, and its named methods. */
class RequestContextTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final ReplicaRig.Waiting handler = new ReplicaRig.Waiting();

  private void send(Replica replica, String method) {
    ReplicaRig.Call call = ReplicaRig.call(replica).named("req-9", method, "session-3");
    call.waitedMicros = 1_500;
    rig.sendHeld(call.header("traceparent", "00-1"));
  }

  private RequestContext context() {
    Replica replica = rig.start(2, handler);
    rig.clock.advanceNanos(Duration.ofSeconds(5).toNanos());
    send(replica, "");
    return handler.contexts.element();
  }

  @Test
  void itNamesTheRequestAndWhereItRuns() {
    RequestContext context = context();
    assertThat(context.requestId()).isEqualTo("req-9");
    assertThat(context.sessionId()).contains("session-3");
    assertThat(context.application()).isEqualTo("app");
    assertThat(context.deployment()).isEqualTo(ReplicaRig.DEPLOYMENT);
    assertThat(context.methodName()).isEmpty();
    assertThat(context.headers().get("traceparent")).isEqualTo("00-1");
  }

  private static String originOf(RequestContext context) {
    return context.clientAddress() + " " + context.scheme() + " " + context.host();
  }

  private RequestContext received(@Nullable RequestOrigin origin, String... host) {
    ReplicaRig.Call call = ReplicaRig.call(rig.start(1, handler));
    call.id(ReplicaRig.callId(handler.calls, 1)).origin = origin;
    rig.sendHeld(host.length == 0 ? call : call.header("Host", host[0]));
    return handler.contexts.remove();
  }

  private String origin(@Nullable RequestOrigin origin, String... host) {
    RequestContext context = received(origin, host);
    assertThat(originOf(context.withTimeout(Duration.ofSeconds(1)))).isEqualTo(originOf(context));
    RequestOrigin inherited = RequestOrigin.of(context);
    if (origin != null) {
      assertThat(originOf(received(inherited, "of.the.call"))).isEqualTo(originOf(context));
    } else {
      assertThat(inherited).isNull();
    }
    return originOf(context);
  }

  @Test
  void itNamesTheOriginOfTheRequestToItsCallsToo() {
    RequestOrigin direct = new RequestOrigin("192.0.2.1", "http", null);
    RequestOrigin proxied = new RequestOrigin("192.0.2.1", "https", "shop.example");
    assertThat(origin(proxied, "own:8000")).isEqualTo("192.0.2.1 https shop.example");
    assertThat(origin(direct, "own:8000")).isEqualTo("192.0.2.1 http own:8000");
    assertThat(origin(direct, "x".repeat(255))).endsWith("xxx");
    assertThat(origin(direct, "x".repeat(256))).isEqualTo("192.0.2.1 http localhost");
    assertThat(origin(direct, "")).isEqualTo("192.0.2.1 http localhost");
    assertThat(origin(direct)).isEqualTo("192.0.2.1 http localhost");
    assertThat(origin(null)).isEqualTo(" http localhost");
    assertThat(new RequestOrigin("a", "http", "x".repeat(256)).host()).isNull();
  }

  @Test
  void itTellsWhenTheRequestCameByTheWallClock() {
    RequestContext context = context();
    rig.clock.advanceNanos(Duration.ofSeconds(7).toNanos());
    assertThat(context.arrivedAtReplica()).isEqualTo(ReplicaRig.WALL_START.plusSeconds(5));
    assertThat(context.arrivedAtRouter())
        .isEqualTo(ReplicaRig.WALL_START.plusSeconds(5).minusNanos(1_500_000));
  }

  @Test
  void itsLoggersLinesCarryTheRequest() {
    Logger log = (Logger) LoggerFactory.getLogger("app.echo");
    ListAppender<ILoggingEvent> lines =
        new ListAppender<>() {
          @Override
          protected void append(ILoggingEvent line) {
            line.getCallerData(); // known only while the line is written
            super.append(line);
          }
        };
    lines.start();
    log.addAppender(lines);
    log.setLevel(Level.INFO);
    try {
      RequestContext context = context();
      context.logger().info("seen {} of {}", 1, 2);
      context.logger().atWarn().addKeyValue("own", "x").log("fluent");
      context.logger().error("failed", new IllegalStateException("why"));
      context.logger().trace("not shown");
    } finally {
      log.setLevel(null); // its parent's
      log.detachAppender(lines);
    }
    assertThat(lines.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly("seen 1 of 2", "fluent", "failed");
    for (ILoggingEvent line : lines.list) {
      assertThat(line.getKeyValuePairs())
          .extracting(pair -> pair.key + "=" + pair.value)
          .contains("request_id=req-9", "replica=app#echo#7", "session_id=session-3");
      assertThat(line.getLoggerName()).isEqualTo("app.echo");
    }
    assertThat(lines.list.get(2).getThrowableProxy().getMessage()).isEqualTo("why");
    assertThat(lines.list.get(0).getCallerData()[0].getClassName())
        .isEqualTo(RequestContextTest.class.getName());
  }

  @Test
  void actionsRunOnceOnCancelInTheirOrderAndInATaskOfTheirOwnButForThoseWithdrawn() {
    Replica replica = rig.busy(1, handler, ReplicaRig.callId(1, 1));
    RequestContext context = handler.contexts.element();
    List<String> ran = new ArrayList<>();
    context.onCancel(() -> ran.add("first"));
    Runnable second = context.onCancel(() -> ran.add("second"));
    context.onCancel(
        () -> {
          throw new IllegalStateException("user code");
        });
    context.onCancel(() -> ran.add("third"));
    Runnable fourth = context.onCancel(() -> ran.add("fourth"));
    second.run();
    fourth.run();
    fourth.run(); // again: nothing

    rig.cancel(replica, ReplicaRig.callId(1, 1));
    rig.cancel(replica, ReplicaRig.callId(1, 1));
    assertThat(ran).as("not on the stack of the message").isEmpty();
    rig.runAll();
    assertThat(ran).containsExactly("first", "third");
    assertThat(replica.failures.counts.sums()).containsEntry("java.lang.IllegalStateException", 1L);

    context.onCancel(() -> ran.add("late"));
    rig.runAll();
    assertThat(ran).containsExactly("first", "third", "late");
  }

  /** Has a method that answers on the loop and one that may block. */
  private static final class Methods extends Answering {
    Methods() {
      super("own");
    }

    int asked;

    @Override
    public Map<String, ReplicaHandler> methods() {
      asked++;
      AsyncHandler quick =
          (request, context) ->
              Future.succeededFuture(
                  Response.text(
                      context.methodName() + " " + request.body().getClass().getSimpleName()));
      BlockingHandler slow = (request, context) -> Response.text("slow");
      return Map.of("quick", quick, "slow", slow);
    }
  }

  private String answer(Replica replica, String method) {
    send(replica, method);
    rig.runAll();
    return rig.answer(CallResponse.class).body().toString();
  }

  @Test
  void aMethodIsCalledByItsNameWhetherItBlocksOrNot() {
    Methods methods = new Methods();
    Replica replica = rig.start(1, methods);
    assertThat(answer(replica, "")).isEqualTo("own");
    assertThat(answer(replica, "quick")).isEqualTo("quick Whole");
    assertThat(answer(replica, "slow")).isEqualTo("slow");
    assertThat(methods.asked).isEqualTo(1);
    assertThat(replica.slots().ongoing()).isZero();
  }

  @Test
  void aMethodThatIsNotThereFailsWithTheNamesOfThoseThatAre() {
    Replica replica = rig.start(1, new Methods());
    send(replica, "other");
    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.toString())
        .contains("NO_SUCH_METHOD")
        .contains("method of app#echo: other (expected: one of [quick, slow])");
    assertThat(replica.slots().ongoing()).isZero();
  }

  @Test
  void aHandlerWithoutMethodsSaysSo() {
    Replica replica = rig.start(1, handler);
    send(replica, "other");
    assertThat(rig.answer(CallFailed.class).toString())
        .contains("method of app#echo: other (expected: none: it has no methods)");
  }
}
