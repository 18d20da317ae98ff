package dev.berth.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.berth.fakes.RoutingWorld;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What users make and take apart can have more parts tomorrow. */
class ValuesTest {
  private static final AsyncHandler HANDLER =
      (request, context) -> Future.succeededFuture(Response.text(""));
  private static final Deployment DEPLOYMENT =
      Deployment.async("one", HANDLER)
          .withNumReplicas(3)
          .withMaxOngoingRequests(9)
          .withSpreadOverLoops(true)
          .withUserConfig(Map.of("k", "v"));
  private static final Request REQUEST =
      Request.of("PUT", "/a", "q=1", Headers.of("k", "secret"), Buffer.buffer("secret"));
  private static final Response RESPONSE = Response.json(201, "secret").withHeader("k", "secret");

  @Test
  void whatFollowsAQuestionMarkIsTheQuery() {
    for (Request request :
        List.of(Request.get("/a?q=1?"), Request.post("/a?q=1?", Buffer.buffer("b")))) {
      assertThat(request.path()).isEqualTo("/a");
      assertThat(request.query()).isEqualTo("q=1?");
      assertThat(request.queryParameter("q")).isEqualTo("1?");
    }
    assertThat(Request.get("/a?").query()).isEmpty();
    assertThat(Request.get("/a").query()).isNull();
  }

  @Test
  void queryParametersAreDecodedAndKeepTheirOrder() {
    Request request = Request.get("/a?b=1&%63=x+y&b=&b&d=%zz");
    assertThat(request.queryParameters())
        .isEqualTo(Map.of("b", List.of("1", "", ""), "c", List.of("x y"), "d", List.of("%zz")));
    assertThat(request.queryParameter("b")).isEqualTo("1");
    assertThat(request.queryParameter("e")).isNull();
    assertThat(Request.get("/a").queryParameters()).isEmpty();
  }

  /** A value, one made of it by a wither, and the only accessor that tells them apart. */
  static Stream<List<Object>> changes() {
    CallOptions options =
        CallOptions.defaults()
            .withTimeout(Duration.ofSeconds(1))
            .withRequestId("r")
            .withReservationTtl(Duration.ofSeconds(2))
            .withMethodName("m")
            .withSessionId("s");
    HandlerFactory other = replica -> HANDLER;
    return Stream.of(
        List.of(options, options.withTimeout(Duration.ofDays(1)), "timeout"),
        List.of(options, options.withRequestId("other"), "requestId"),
        List.of(options, options.withReservationTtl(Duration.ofDays(1)), "reservationTtl"),
        List.of(options, options.withMethodName("other"), "methodName"),
        List.of(options, options.withSessionId("other"), "sessionId"),
        List.of(DEPLOYMENT, DEPLOYMENT.withNumReplicas(2), "numReplicas"),
        List.of(DEPLOYMENT, DEPLOYMENT.withMaxOngoingRequests(7), "maxOngoingRequests"),
        List.of(DEPLOYMENT, DEPLOYMENT.withSpreadOverLoops(false), "spreadOverLoops"),
        List.of(DEPLOYMENT, DEPLOYMENT.withUserConfig(Map.of("a", 1)), "userConfig"),
        List.of(DEPLOYMENT, DEPLOYMENT.withFactory(other), "factory"),
        List.of(REQUEST, REQUEST.withPath("/b"), "path"),
        List.of(REQUEST, REQUEST.withQuery("q=2"), "query"),
        List.of(REQUEST, REQUEST.withHeader("other", "v"), "headers"),
        List.of(REQUEST, REQUEST.withBody(Buffer.buffer("b")), "body"),
        List.of(RESPONSE, RESPONSE.withStatus(202), "status"),
        List.of(RESPONSE, RESPONSE.withHeader("other", "v"), "headers"),
        List.of(RESPONSE, RESPONSE.withBody(new Response.Body.Whole(Buffer.buffer())), "body"));
  }

  @ParameterizedTest
  @MethodSource("changes")
  void aWitherChangesOnePart(List<Object> change) throws Exception {
    Map<String, Object> before = parts(change.get(0));
    Map<String, Object> after = parts(change.get(1));
    assertThat(before.keySet())
        .filteredOn(part -> !before.get(part).equals(after.get(part)))
        .containsExactly((String) change.get(2));
  }

  @Test
  void whatOneWitherSetsTheNextKeeps() throws Exception {
    Map<String, Object> nothing = parts(Deployment.of("other", replica -> HANDLER));
    assertThat(parts(DEPLOYMENT))
        .allSatisfy((part, value) -> assertThat(value).isNotEqualTo(nothing.get(part)));
  }

  /** Each of them as the last. */
  @Test
  void anOptionOfAHandleKeepsTheOthers() throws Exception {
    List<UnaryOperator<DeploymentHandle>> options =
        List.of(
            handle -> handle.withTimeout(Duration.ofSeconds(1)),
            handle -> handle.method("m"),
            handle -> handle.withSessionId("s"),
            handle -> handle.withRequestId("r"),
            handle -> handle.withReservationTtl(Duration.ofSeconds(2)));
    for (int last = 0; last < options.size(); last++) {
      DeploymentHandle handle = new RoutingWorld().handle();
      for (int i = 1; i <= options.size(); i++) {
        handle = options.get((last + i) % options.size()).apply(handle);
      }
      assertThat(parts(handle.options()).values())
          .as("option %s last", last)
          .doesNotContain(Optional.of(Optional.empty()));
    }
  }

  private static Map<String, Object> parts(Object value) throws Exception {
    Map<String, Object> parts = new TreeMap<>();
    for (String part :
        List.of(
            "timeout requestId reservationTtl methodName sessionId",
            "name numReplicas maxOngoingRequests spreadOverLoops userConfig factory",
            "method path query headers body status")) {
      for (String name : part.split(" ")) {
        for (Method method : value.getClass().getMethods()) {
          if (method.getName().equals(name)) {
            parts.put(name, Optional.ofNullable(method.invoke(value)));
          }
        }
      }
    }
    return parts;
  }

  @Test
  void noConstructorIsPublic() {
    assertThat(
            Stream.of(
                    Application.class,
                    CallOptions.class,
                    Deployment.class,
                    Request.class,
                    Response.class,
                    StreamedResponse.class)
                .filter(type -> type.getConstructors().length > 0))
        .isEmpty();
  }

  @Test
  void whatMayBeSecretIsNotInItsText() {
    assertThat(REQUEST).hasToString("Request[PUT /a]");
    assertThat(RESPONSE).hasToString("Response[201]");
  }

  @Test
  void bothKindsOfFunctionAreDeploymentsOfOneHandler() throws Exception {
    BlockingHandler blocking = (request, context) -> Response.text("");
    assertThat(handlers(DEPLOYMENT)).containsOnly(HANDLER);
    assertThat(handlers(Deployment.blocking("two", blocking))).containsOnly(blocking);
  }

  @SuppressWarnings("NullAway") // neither looks at its replica
  private static List<ReplicaHandler> handlers(Deployment deployment) throws Exception {
    return List.of(deployment.factory().create(null), deployment.factory().create(null));
  }

  @Test
  void whatIsOutOfRangeIsRefusedByItsName() {
    CallOptions options = CallOptions.defaults();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> options.withTimeout(Duration.ofSeconds(Long.MAX_VALUE)));
    refused(
        () -> options.withReservationTtl(Duration.ofNanos(-1)),
        "reservationTtl: PT-0.000000001S (expected: > 0, below 292 years)");
    refused(() -> DEPLOYMENT.withNumReplicas(0), "numReplicas: 0 (expected: >= 1)");
    refused(
        () -> DEPLOYMENT.withMaxOngoingRequests(65_536),
        "maxOngoingRequests: 65536 (expected: 1 to 65535)");
    refused(() -> RESPONSE.withStatus(199), "status: 199 (expected: 200 to 599)");
    refused(
        () -> Application.of(DEPLOYMENT, DEPLOYMENT),
        "deployments: two named one (expected: unique names)");
  }

  private static void refused(ThrowingCallable what, String message) {
    assertThatIllegalArgumentException().isThrownBy(what).withMessage(message);
  }
}
