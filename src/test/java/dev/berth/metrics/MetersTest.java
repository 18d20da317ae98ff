package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.http.HttpMethod;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MetersTest {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final Meters meters = new Meters("node-1", "127.0.0.1", "", false);

  @Test
  void everySeriesOfANodeOfAClusterSaysOfWhich() {
    Meters node = new Meters("n2~1", "127.0.0.1", "", true);
    node.addIngressLoop().route("/", "app", "echo").recordResponse(HttpMethod.GET, 200, 1);
    node.addNodeGauge("serve_proxy_status", () -> 2);
    node.registry().counter("jvm_like", "area", "heap").increment();
    node.add(into -> into.with("node_id", "theirs").gauge("of_users", 1));
    List<String> samples = node.scrape(TEXT).lines().filter(line -> !line.startsWith("#")).toList();
    assertThat(samples)
        .hasSizeGreaterThan(20)
        .contains(
            "serve_proxy_status{node_id=\"n2~1\",node_ip_address=\"127.0.0.1\"} 2.0",
            "jvm_like_total{area=\"heap\",node_id=\"n2~1\"} 1.0",
            "of_users{node_id=\"theirs\"} 1.0")
        .filteredOn(line -> !line.startsWith("of_users"))
        .allMatch(line -> line.contains("node_id=\"n2~1\""));
  }

  @Test
  void aRequestIsCountedByRouteMethodApplicationAndStatus() {
    HttpMeters loop = meters.addIngressLoop();
    RouteMeters route = loop.route("/classify", "app", "classify");
    route.recordResponse(HttpMethod.POST, 200, Duration.ofMillis(3).toNanos());
    route.recordResponse(HttpMethod.POST, 200, Duration.ofMillis(30).toNanos());
    String labels = "application=\"app\",method=\"POST\",route=\"/classify\",status_code=\"200\"";
    assertThat(lines())
        .contains(
            "serve_num_http_requests_total{" + labels + "} 2.0",
            "serve_http_request_latency_ms_count{" + labels + "} 2",
            "serve_http_request_latency_ms_sum{" + labels + "} 33.0",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"2.0\"} 0",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"5.0\"} 1",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"20.0\"} 1",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"50.0\"} 2",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"600000.0\"} 2",
            "serve_http_request_latency_ms_bucket{" + labels + ",le=\"+Inf\"} 2");
  }

  @ParameterizedTest
  @CsvSource({"GET, GET, GET", "FROB, TWIDDLE, OTHER"})
  void theLoopsOfAnInstanceAddUpToOneSeriesAndSoDoInventedMethods(
      String one, String other, String shown) {
    for (String method : List.of(one, other)) {
      RouteMeters route = meters.addIngressLoop().route("/", "app", "echo");
      route.recordResponse(HttpMethod.valueOf(method), 200, 1);
    }
    assertThat(lines())
        .contains(
            "serve_num_http_requests_total{application=\"app\",method=\"%s\",route=\"/\","
                    .formatted(shown)
                + "status_code=\"200\"} 2.0");
  }

  @Test
  void anAnswerOf400OrAboveIsAnErrorToo() {
    RouteMeters route = meters.addIngressLoop().route("/", "app", "echo");
    route.recordResponse(HttpMethod.GET, 399, 1);
    route.recordResponse(HttpMethod.GET, 499, 1);
    route.recordResponse(HttpMethod.GET, 503, 1);
    String failed = "serve_num_http_error_requests_total{application=\"app\",";
    assertThat(lines())
        .filteredOn(line -> line.startsWith("serve_num_http_error_requests_total"))
        .containsExactlyInAnyOrder(
            failed + "error_code=\"499\",method=\"GET\",route=\"/\"} 1.0",
            failed + "error_code=\"503\",method=\"GET\",route=\"/\"} 1.0");
    assertThat(lines())
        .contains(
            "serve_num_deployment_http_error_requests_total{application=\"app\","
                + "deployment=\"echo\",error_code=\"503\",method=\"GET\",route=\"/\"} 1.0");
  }

  @Test
  void ongoingRequestsReturnToZero() {
    HttpMeters loop = meters.addIngressLoop();
    String gauge =
        "serve_num_ongoing_http_requests{node_id=\"node-1\",node_ip_address=\"127.0.0.1\"} ";
    loop.recordStart();
    loop.recordStart();
    assertThat(lines()).contains(gauge + "2.0");
    loop.recordEnd();
    loop.recordEnd();
    assertThat(lines()).contains(gauge + "0.0");
  }

  @Test
  void anOwnerIsShownUnderItsLabelsWhileItIsRegistered() {
    LatencyBuckets slow = new LatencyBuckets();
    LatencyBuckets quick = new LatencyBuckets();
    slow.add(Duration.ofMillis(150).toNanos());
    quick.add(Duration.ofMillis(15).toNanos());
    MeterRegistration registration =
        meters.add(
            into -> {
              MetricSeries digits = into.with("deployment", "digits");
              digits.gauge("waiting", 3);
              digits.with("route", "/digits").counter("taken", 4);
              digits.histogram("time_ms", List.of(slow, quick));
            });
    assertThat(lines())
        .contains(
            "waiting{deployment=\"digits\"} 3.0",
            "taken_total{deployment=\"digits\",route=\"/digits\"} 4.0",
            "time_ms_sum{deployment=\"digits\"} 165.0",
            "time_ms_count{deployment=\"digits\"} 2");
    registration.close();
    assertThat(lines()).noneMatch(line -> line.contains("digits"));
  }

  @Test
  void aHistogramAppearsWithItsFirstObservationAndAllItsBuckets() {
    LatencyBuckets idle = new LatencyBuckets();
    LatencyBuckets used = new LatencyBuckets();
    meters.add(into -> into.histogram("time_ms", List.of(idle, used)));
    assertThat(lines()).noneMatch(line -> line.contains("time_ms"));
    used.add(0);
    assertThat(lines())
        .contains("time_ms_bucket{le=\"+Inf\"} 1", "time_ms_count 1", "time_ms_sum 0.0")
        .filteredOn(line -> line.startsWith("time_ms_bucket"))
        .hasSize(LatencyBuckets.COUNT)
        .allMatch(line -> line.endsWith(" 1"));
  }

  @Test
  void whatRayNamesTooMayHaveRaysPrefixAndOursHasNone() {
    Meters prefixed = new Meters("n", "a", "ray_", false);
    prefixed.add(into -> into.gauge("serve_deployment_queued_queries", 1));
    prefixed.addCounter("berth_request_retries", () -> 1);
    List<String> names =
        prefixed.scrape(TEXT).lines().filter(line -> line.startsWith("# TYPE")).toList();
    assertThat(names)
        .contains("# TYPE ray_serve_deployment_queued_queries gauge")
        .contains("# TYPE berth_request_retries_total counter")
        .noneMatch(line -> line.contains(" serve_") || line.contains("ray_berth"));
  }

  @Test
  void aMetricOfOursThatNothingExplainsIsNotShown() {
    meters.add(into -> into.gauge("berth_unexplained", 1));
    assertThat(lines()).noneMatch(line -> line.contains("unexplained"));
  }

  @Test
  void aSourceThatCannotBeReadHidesNoOther() {
    meters.add(
        into -> {
          throw new IllegalStateException("broken for the test");
        });
    meters.add(into -> into.with("kind", "sound").gauge("sound", 1));
    assertThat(lines()).contains("sound{kind=\"sound\"} 1.0");
  }

  @Test
  void theMetersOfUserCodeAreShownBesideOurs() {
    meters.registry().counter("orders", "kind", "digits").increment();
    assertThat(lines()).contains("orders_total{kind=\"digits\"} 1.0");
  }

  private List<String> lines() {
    return meters.scrape(TEXT).lines().toList();
  }
}
