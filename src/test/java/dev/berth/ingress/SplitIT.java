package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Backpressure;
import dev.berth.config.Yaml;
import dev.berth.fakes.Replicas;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.reserve.ReservationLimits;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.routing.traffic.TrafficPolicy;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestStep;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A route with several deployments: a, b and c of one replica each, which answer their names. */
class SplitIT {
  private static final List<String> NAMES = List.of("a", "b", "c", "d");

  @AutoClose private IngressRig rig;

  @BeforeEach
  void start() throws Exception {
    rig = new IngressRig(IngressRig.LOCAL);
    rig.upstream.behave(call -> call.respond(deployment(call)));
  }

  private static String deployment(Call call) {
    return NAMES.get(call.message.target().ordinal());
  }

  private DeploymentRouter router(String name, int slots) {
    DeploymentId id = new DeploymentId("app", name);
    DeploymentRouter router = rig.upstream.routers().router(id, RoutingProbe.DEFAULTS);
    ReplicaAddress address = new ReplicaAddress("there", 0, NAMES.indexOf(name), 5);
    router.update(Replicas.snapshot(id, Replicas.info(id + "#1", id, address, slots)));
    return router;
  }

  /** What {@code berth} of the application says; of two slots each. */
  private void traffic(String said) {
    traffic(said, 2);
  }

  private void traffic(String said, int slots) {
    String text = "applications: [{name: app, import_path: a.B, berth: {" + said + "}}]";
    TrafficPolicy policy =
        TrafficPolicy.of(
            Yaml.read(text).applications().get(0).get(ApplicationConfig.BERTH),
            "app",
            new DeploymentId("app", "a"));
    List<IngressRoute> sides =
        policy.sides().stream().map(id -> side(router(id.name(), slots))).toList();
    List<DeploymentRouter> shadows =
        policy.shadows().stream().map(each -> router(each.to().name(), slots)).toList();
    IngressRoute route = IngressRoute.to("app", new RouteTraffic(policy, sides, shadows));
    rig.ingress.update(RouteTable.of("", Map.of("/", route)));
  }

  private static IngressRoute side(DeploymentRouter to) {
    return new IngressRoute("app", to, Backpressure.DEFAULTS, null);
  }

  private String body(HttpRequest.Builder request) throws Exception {
    return rig.answer(request).body();
  }

  private double shadows(String event) {
    return rig.metric(
        "berth_shadow_requests_total{application=\"app\",deployment=\"c\",event=\"%s\",route=\"/\"}"
            .formatted(event));
  }

  @Test
  void matchesGoFirstThenKeysStayThenChanceSplits() throws Exception {
    traffic(
        "traffic: [{deployment: a, weight: 50}, {deployment: b, weight: 50}],"
            + " match: [{header: x-canary, exact: '1', deployment: c},"
            + " {cookie: who, prefix: beta, deployment: b}, {query: v, regex: '2[.]\\d+',"
            + " deployment: c}], shard_key: {path: 2}");

    assertThat(body(rig.request("/users/x").header("X-Canary", "1"))).isEqualTo("c");
    assertThat(body(rig.request("/users/x").header("Cookie", "k=v; who=beta-7"))).isEqualTo("b");
    assertThat(body(rig.request("/users/x?v=2.17"))).isEqualTo("c");
    Map<String, Integer> counts = new HashMap<>();
    for (int i = 0; i < 40; i++) {
      String user = "/users/u" + i + "/items";
      String first = body(rig.request(user));
      assertThat(body(rig.request(user))).isEqualTo(first);
      counts.merge(first, 1, Integer::sum);
      counts.merge(body(rig.request("/users")) + " drawn", 1, Integer::sum);
    }
    assertThat(counts).containsOnlyKeys("a", "b", "a drawn", "b drawn");
  }

  @Test
  void eachSideHasItsOwnCountsAndWhoWaitsStaysWhenWeightsMove() throws Exception {
    traffic("traffic: [{deployment: a, weight: 1}]", 1);
    rig.upstream.behave(call -> {});
    var runs = rig.send(rig.request("/"));
    Call first = rig.upstream.nextCall();
    var waits = rig.send(rig.request("/"));
    rig.eventually("it", () -> router("a", 1).queued() == 1);

    traffic("traffic: [{deployment: b, weight: 1}]", 1);
    var moved = rig.send(rig.request("/"));
    Call second = rig.upstream.nextCall();
    assertThat(deployment(second)).isEqualTo("b");
    second.respond("b");
    assertThat(moved.get(10, TimeUnit.SECONDS).body()).isEqualTo("b");
    first.respond("a");
    Call third = rig.upstream.nextCall();
    assertThat(deployment(third)).isEqualTo("a");
    third.respond("a again");
    assertThat(runs.get(10, TimeUnit.SECONDS).body()).isEqualTo("a");
    assertThat(waits.get(10, TimeUnit.SECONDS).body()).isEqualTo("a again");
  }

  @Test
  void aCopyIsMarkedComparedAndForNobody() throws Exception {
    traffic("shadow: [{deployment: c, compare: true}]");
    rig.upstream.behave(
        call -> {
          boolean copy = call.request().headers().get("x-serve-shadow") != null;
          assertThat(copy).isEqualTo(deployment(call).equals("c"));
          call.respond(call.request().path().equals("/same") ? "same" : deployment(call));
        });

    assertThat(body(rig.request("/same"))).isEqualTo("same");
    assertThat(body(rig.request("/other"))).isEqualTo("a");
    rig.eventually("it", () -> shadows("status_same") == 2);
    assertThat(shadows("copied")).isEqualTo(2);
    assertThat(shadows("body_same")).isEqualTo(1);
    assertThat(shadows("body_other")).isEqualTo(1);
    assertThat(shadows("status_other")).isZero();
  }

  @Test
  void aCopyThatFailsOrHangsHarmsNobodyAndGoesWithItsRequest() throws Exception {
    traffic("shadow: [{deployment: c}]");
    rig.upstream.behave(
        call -> {
          if (!deployment(call).equals("c")) {
            call.respond("ok");
          } else if (call.request().path().equals("/fails")) {
            call.fail(BerthException.Kind.HANDLER_FAILED, "broken");
          }
        });

    assertThat(body(rig.request("/fails"))).isEqualTo("ok");
    rig.eventually("it", () -> shadows("failed") == 1);
    assertThat(body(rig.request("/hangs").header("x-request-timeout-seconds", "0.3")))
        .isEqualTo("ok");
    rig.eventually("it", () -> shadows("failed") == 2); // at the request's own deadline
    assertThat(shadows("copied")).isEqualTo(2);
  }

  @Test
  void aCopyTakesNoSlotThatIsTheLastAndNoLargeBody() throws Exception {
    traffic("shadow: [{deployment: c, max_copied_bytes: 3}]", 1);
    assertThat(body(rig.request("/"))).isEqualTo("a");
    assertThat(shadows("skipped_busy")).isEqualTo(1);

    traffic("shadow: [{deployment: c, max_copied_bytes: 3}]", 2);
    assertThat(body(rig.request("/").POST(HttpRequest.BodyPublishers.ofString("four"))))
        .isEqualTo("a");
    assertThat(shadows("skipped_body")).isEqualTo(1);
    assertThat(shadows("copied")).isZero();
  }

  @Test
  void anExplainedRequestTellsWhichSideAndWhyAndNotItsKey() throws Exception {
    traffic(
        "traffic: [{deployment: a, weight: 1}, {deployment: b, weight: 3}],"
            + " match: [{header: x-canary, deployment: c}], shadow: [{deployment: d}]");

    assertThat(split(rig.request("/").header("x-canary", "1")))
        .isEqualTo("app#c: match 0, HEADER x-canary, present");
    assertThat(split(rig.request("/").header("X-Serve-Shard-Key", "secret")))
        .matches("app#[ab]: key of HEADER X-Serve-Shard-Key among \\[1.0, 3.0, 0.0]");
    assertThat(split(rig.request("/")))
        .matches("app#[ab]: drawn 0\\.\\d{6} among \\[1.0, 3.0, 0.0]");
  }

  private String split(HttpRequest.Builder request) throws Exception {
    rig.answer(request.header("X-Berth-Explain", "1"));
    RequestExplanation record = rig.upstream.explained.poll(10, TimeUnit.SECONDS);
    List<String> told =
        record.steps().stream()
            .filter(step -> step.kind() == RequestStep.RequestStepKind.SPLIT)
            .map(RequestStep::detail)
            .toList();
    assertThat(told).hasSize(2).element(1).isEqualTo("shadow app#d: COPIED");
    return told.get(0);
  }

  private void nowhere(long parkNanos) {
    rig.ingress.update(RouteTable.of("", Map.of("/", IngressRoute.nowhere(parkNanos))));
  }

  private void parked(int number) throws Exception {
    rig.eventually("parked", () -> rig.metric("berth_http_requests_parked") == number);
  }

  @Test
  void whoComesBeforeTheRouteLeadsAnywhereGoesOnInOrderOnceItDoes() throws Exception {
    nowhere(TimeUnit.SECONDS.toNanos(30));
    List<CompletableFuture<HttpResponse<String>>> waiting = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      waiting.add(
          rig.send(rig.request("/" + i).POST(HttpRequest.BodyPublishers.ofString("body " + i))));
      parked(i + 1);
    }
    RawClient gone = rig.raw().get("/gone");
    parked(6);
    gone.close();
    parked(5);
    List<String> order = new ArrayList<>();
    rig.upstream.behave(
        call -> {
          order.add(call.request().path());
          call.respond(deployment(call) + " " + call.request().bytes());
        });
    traffic("traffic: [{deployment: b, weight: 1}]", 100);

    for (int i = 0; i < 5; i++) {
      assertThat(waiting.get(i).get(10, TimeUnit.SECONDS).body()).isEqualTo("b body " + i);
    }
    assertThat(order).containsExactly("/0", "/1", "/2", "/3", "/4");
    parked(0);
    assertThat(rig.upstream.loop().bounds().queued()).isZero();
  }

  @Test
  void whoWaitsIsToldAtADrainAndWhoComesLaterAtOnce() throws Exception {
    nowhere(TimeUnit.SECONDS.toNanos(30));
    var waits = rig.send(rig.request("/"));
    parked(1);
    rig.ingress.drain();
    assertThat(waits.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(503);
    assertThat(rig.get("/later").statusCode()).isEqualTo(503);
    parked(0);
    assertThat(rig.upstream.loop().bounds().queued()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "X-Session-ID: k",
        "X-Serve-Shard-Key: k\r\nX-Session-ID: other",
        "X-Serve-Shard-Key:\r\nX-Session-ID: k"
      })
  void aKeyIsHashedWhereThereIsNothingToSplit(String header) throws Exception {
    DeploymentRouter router = router("a", 2);
    List<Long> keys = new ArrayList<>();
    router.ranker.set(
        (candidates, asker, random, order) -> {
          keys.add(asker.key());
          order.add(0);
        });
    rig.ingress.update(RouteTable.of("", Map.of("/", side(router))));
    RawClient raw = rig.raw();
    raw.send("GET / HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n");
    assertThat(raw.readHead()).startsWith("HTTP/1.1 200");
    assertThat(keys).containsOnly(KeyHash.of("k"));
  }

  @Test
  void whoWasParkedHasTheTimeOfTheDeploymentThatItCameTo() throws Exception {
    nowhere(TimeUnit.SECONDS.toNanos(30));
    rig.upstream.behave(call -> {});
    var waits = rig.send(rig.request("/"));
    parked(1);
    DeploymentId id = new DeploymentId("app", "a");
    long brief = TimeUnit.MILLISECONDS.toNanos(300);
    DeploymentRouter router =
        rig.upstream
            .routers()
            .router(id, new RouterSettings(-1, brief, brief, brief, 503, -1, brief, brief, false));
    ReplicaAddress address = new ReplicaAddress("there", 0, 0, 5);
    router.update(Replicas.snapshot(id, Replicas.info(id + "#1", id, address, 1)));
    rig.ingress.update(RouteTable.of("", Map.of("/", side(router))));
    assertThat(waits.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(408);
  }

  @Test
  void aParkedRequestIsToldInTimeThatItsRouteLeadsNowhere() throws Exception {
    nowhere(TimeUnit.MILLISECONDS.toNanos(200));
    HttpResponse<String> late = rig.get("/late");
    assertThat(late.statusCode()).isEqualTo(503);
    assertThat(late.headers().firstValue("retry-after")).hasValue("1");
    assertThat(late.body()).contains("has no deployment yet");
    nowhere(TimeUnit.SECONDS.toNanos(30));
    var own = rig.request("/own").header("x-request-timeout-seconds", "0.2");
    assertThat(rig.answer(own).statusCode()).isEqualTo(408);
    var removed = rig.send(rig.request("/removed"));
    parked(1);
    rig.ingress.update(RouteTable.empty());
    assertThat(removed.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(404);
    assertThat(rig.upstream.loop().bounds().queued()).isZero();
  }

  @Test
  void aRequestNamesAMethodOfItsHandlerAndIsToldWhenThereIsNone() throws Exception {
    traffic("traffic: [{deployment: a, weight: 1}]");
    rig.upstream.behave(
        call -> {
          if (call.message.methodName().equals("none")) {
            call.fail(BerthException.Kind.NO_SUCH_METHOD, "inside");
          } else {
            call.respond("method " + call.message.methodName());
          }
        });
    assertThat(body(rig.request("/"))).isEqualTo("method ");
    assertThat(body(rig.request("/").header("X-Serve-Call-Method", "sum"))).isEqualTo("method sum");
    HttpResponse<String> none = rig.answer(rig.request("/").header("X-Serve-Call-Method", "none"));
    assertThat(none.statusCode()).isEqualTo(404);
    assertThat(none.body()).contains("no such method").doesNotContain("inside");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /?v=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /?%&&==&v HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nCookie: who\r\nCookie: =;;\u0001,who=\"\r\n\r\n",
        "GET ///// HTTP/1.1\r\nHost: x\r\nX-Canary: \r\n\r\n",
        "GET *x HTTP/1.1\r\nHost: x\r\n\r\n",
      })
  void whatAClientMayNotSayMatchesNothing(String sent) throws Exception {
    traffic(
        "traffic: [{deployment: a, weight: 1}], shard_key: {path: 3},"
            + " match: [{query: v, exact: '1', deployment: b},"
            + " {cookie: who, exact: '1', deployment: b}, {header: x-canary, exact: '1',"
            + " deployment: b}]");
    RawClient raw = rig.raw();
    String told =
        raw.send(sent + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").readToEnd();
    assertThat(told).startsWith("HTTP/1.1 ").doesNotContain("500 ").doesNotContain("\nb");
  }

  @Test
  void aRequestThatHoldsASlotGoesToItsDeploymentWhateverTheWeights() throws Exception {
    traffic("traffic: [{deployment: a, weight: 1}, {deployment: b, weight: 0}]");
    ReservationTable table =
        new ReservationTable(
            rig.upstream.routers(),
            new ReservationLimits(10, 10, 10, 10, 10, 1),
            System::nanoTime,
            new SplittableRandom(1)::nextLong);
    rig.ingress.serveReservations(table, null);
    String token =
        IngressRig.await(
                table
                    .reserve(
                        new ReservationRequest(
                            new DeploymentId("app", "b"), TimeUnit.SECONDS.toNanos(60), 0, ""),
                        new ReservationCaller("c", null))
                    .answer())
            .token();

    assertThat(body(rig.request("/").header("X-Berth-Reservation", token))).isEqualTo("b");
    assertThat(body(rig.request("/"))).isEqualTo("a");
  }
}
