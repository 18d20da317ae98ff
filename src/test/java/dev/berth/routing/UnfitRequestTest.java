package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.port.HeadBytes;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A request that no replica can be sent fails alone, at once, wherever its replica is. */
class UnfitRequestTest {
  private static final Request REQUEST = Request.get("/");

  private final RoutingWorld world = new RoutingWorld();

  private RoutingWorld.Replica published(boolean elsewhere) {
    return world.published(elsewhere ? world.remote("r", 2) : world.local("r", 2));
  }

  private static Request head(String value) {
    return REQUEST.withHeaders(Headers.of("x", value));
  }

  @Test
  void unfitRequestFailsAtOnceAndItsReplicaServesTheNext() {
    RoutingWorld.Replica far = published(true);
    far.unfit = true;
    Future<Response> unfit = world.settled(world.handle().call(REQUEST));
    far.unfit = false;

    Future<Response> next = world.settled(world.handle().call(REQUEST));

    assertThat(unfit.cause())
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessage("the request could not be sent: it has no wire form");
    assertThat(far.executions).as("without a probe").isOne();
    far.finish();
    assertThat(next.succeeded()).isTrue();
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(CallRequest.class)).as("each once").hasSize(2);
    world.assertAllAtRest();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void headOverItsLimitIsRefusedAlikeHereAndElsewhere(boolean elsewhere) {
    RoutingWorld.Replica replica = published(elsewhere);
    Future<Response> large =
        world.settled(world.handle().call(head("a".repeat(HeadBytes.MAX + 1))));
    assertThat(large.cause())
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessageMatching(
            "the request could not be sent: head_bytes: 10486\\d\\d \\(expected: at most 1048576\\)");
    assertThat(replica.executions).isZero();
    world.assertAllAtRest();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void everyPartOfAHeadCountsInBytes(boolean elsewhere) {
    RoutingWorld.Replica replica = published(elsewhere);
    String half = "ü".repeat(HeadBytes.MAX / 4);
    CallOptions session = CallOptions.defaults().withSessionId(half);
    Future<Response> large = world.settled(world.handle().options(session).call(head(half)));
    assertThat(large.cause()).hasMessageContaining("head_bytes: 1048");
    world.handle().options(session).call(head(half.substring(40)));
    world.run();
    assertThat(replica.executions).as("just below").isOne();
    replica.finishAll();
    world.assertAllAtRest();
  }

  @Test
  void aPartThatIsNotThereTakesNothing() {
    String longest = "a".repeat(HeadBytes.MAX - 3);
    assertThatCode(() -> HeadBytes.check(Headers.empty(), longest, null))
        .doesNotThrowAnyException();
  }

  @Test
  void largestHeadAndBodyHaveAWireForm() {
    RoutingWorld.Replica far = published(true);
    Request most =
        Request.of(
            "POST",
            "/",
            null,
            Headers.of("x", "a".repeat(HeadBytes.MAX - 100)),
            Buffer.buffer(new byte[64 << 10]));
    world.handle().call(most);
    world.run();
    Buffer wire = Buffer.buffer();
    dev.berth.protocol.wire.WireCodec.encode(world.sent(CallRequest.class).get(0), wire);
    assertThat(wire.length()).isGreaterThan(HeadBytes.MAX);
    far.finish();
    world.assertAllAtRest();
  }
}
