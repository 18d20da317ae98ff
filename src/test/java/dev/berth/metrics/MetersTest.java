package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.LedgerView;
import dev.berth.protocol.port.LedgerView.LastAudit;
import io.vertx.core.http.HttpMethod;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MetersTest {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
  private static final DeploymentId DIGITS = new DeploymentId("app", "digits");

  private final Meters meters = new Meters("node-1", "127.0.0.1");

  @Test
  void aRequestIsCountedByRouteMethodApplicationAndStatus() {
    HttpMeters loop = meters.addIngressLoop();
    RouteMeters route = loop.route("/classify", "app", "classify");
    route.answered(HttpMethod.POST, 200, Duration.ofMillis(3).toNanos());
    route.answered(HttpMethod.POST, 200, Duration.ofMillis(30).toNanos());
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

  @Test
  void theLoopsOfAnInstanceAddUpToOneSeries() {
    for (int i = 0; i < 3; i++) {
      meters.addIngressLoop().route("/", "app", "echo").answered(HttpMethod.GET, 200, 1);
    }
    assertThat(lines())
        .contains(
            "serve_num_http_requests_total{application=\"app\",method=\"GET\",route=\"/\","
                + "status_code=\"200\"} 3.0");
  }

  @Test
  void anAnswerOf400OrAboveIsAnErrorToo() {
    RouteMeters route = meters.addIngressLoop().route("/", "app", "echo");
    route.answered(HttpMethod.GET, 399, 1);
    route.answered(HttpMethod.GET, 499, 1);
    route.answered(HttpMethod.GET, 503, 1);
    assertThat(lines())
        .filteredOn(line -> line.startsWith("serve_num_http_error_requests_total"))
        .containsExactlyInAnyOrder(
            "serve_num_http_error_requests_total{application=\"app\",error_code=\"499\","
                + "method=\"GET\",route=\"/\"} 1.0",
            "serve_num_http_error_requests_total{application=\"app\",error_code=\"503\","
                + "method=\"GET\",route=\"/\"} 1.0");
    assertThat(lines())
        .contains(
            "serve_num_deployment_http_error_requests_total{application=\"app\","
                + "deployment=\"echo\",error_code=\"503\",method=\"GET\",route=\"/\"} 1.0");
  }

  @Test
  void inventedMethodsShareOneSeries() {
    RouteMeters route = meters.addIngressLoop().route("/", "app", "echo");
    route.answered(HttpMethod.valueOf("FROB"), 200, 1);
    route.answered(HttpMethod.valueOf("TWIDDLE"), 200, 1);
    assertThat(lines())
        .contains(
            "serve_num_http_requests_total{application=\"app\",method=\"OTHER\",route=\"/\","
                + "status_code=\"200\"} 2.0");
  }

  @Test
  void ongoingRequestsReturnToZero() {
    HttpMeters loop = meters.addIngressLoop();
    String gauge =
        "serve_num_ongoing_http_requests{node_id=\"node-1\",node_ip_address=\"127.0.0.1\"} ";
    loop.started();
    loop.started();
    assertThat(lines()).contains(gauge + "2.0");
    loop.ended();
    loop.ended();
    assertThat(lines()).contains(gauge + "0.0");
  }

  @Test
  void aHandleIsShownWhileItIsRegistered() {
    FakeHandle handle = new FakeHandle("digits").with(1, 2, 3);
    handle.requests = 4;
    handle.waited.add(Duration.ofMillis(15).toNanos());
    handle.gaps.add(Duration.ofMillis(150).toNanos());
    Registration registration = meters.addHandle(handle);
    String labels = "{application=\"app\",deployment=\"digits\"} ";
    String routed = "{application=\"app\",deployment=\"digits\",route=\"/digits\"} ";
    assertThat(lines())
        .contains(
            "serve_num_router_requests_total" + routed + "4.0",
            "serve_handle_request_counter_total" + routed + "4.0",
            "serve_request_router_fulfillment_time_ms_sum" + labels + "15.0",
            "serve_selection_dispatch_gap_ms_sum" + labels + "150.0",
            "serve_selections_released_without_dispatch_total" + labels + "5.0",
            "serve_request_router_queue_len{application=\"app\",deployment=\"digits\","
                + "replica_id=\"r1\"} 3.0",
            "serve_deployment_queued_queries" + labels + "1.0",
            "serve_num_ongoing_requests_at_replicas" + labels + "2.0",
            "serve_reserved_slots_active" + labels + "3.0");
    registration.close();
    assertThat(lines()).noneMatch(line -> line.contains("digits"));
  }

  @Test
  void aReplicaShowsItsLedgerAndItsAudit() {
    meters.addReplica(new FakeReplica("app#digits#1", LedgerView.Audit.MISMATCH));
    meters.addReplica(new FakeReplica("app#digits#2", LedgerView.Audit.CLEAN));
    String one = "{application=\"app\",deployment=\"digits\",replica=\"app#digits#1\"} ";
    String two = "{application=\"app\",deployment=\"digits\",replica=\"app#digits#2\"} ";
    assertThat(lines())
        .contains(
            "serve_replica_processing_queries" + one + "3.0",
            "serve_zombie_requests" + one + "1.0",
            "berth_lease_expiries_total" + one + "5.0",
            "berth_audit_mismatches" + one + "1.0",
            "berth_audit_mismatches" + two + "0.0",
            "serve_deployment_replica_starts_total" + one + "1.0",
            "serve_deployment_replica_healthy" + one + "1.0",
            "serve_replica_utilization_percent" + one + "25.0");
  }

  @Test
  void aReplicaShowsItsRequestsByRouteAndItsErrorsByClass() {
    meters.addReplica(new FakeReplica("app#digits#1", LedgerView.Audit.CLEAN));
    String labels = "application=\"app\",deployment=\"digits\",";
    String tail = "replica=\"app#digits#1\",route=\"/digits\"} ";
    assertThat(lines())
        .contains(
            "serve_deployment_request_counter_total{" + labels + tail + "20.0",
            "serve_deployment_error_counter_total{"
                + labels
                + "exception_type=\"java.lang.Error\","
                + tail
                + "2.0",
            "serve_deployment_processing_latency_ms_count{" + labels + tail + "1",
            "serve_deployment_max_processing_latency_ms{" + labels + tail + "70.0");
  }

  @Test
  void whatRayNamesTooMayHaveRaysPrefixAndOursHasNone() {
    Meters prefixed = new Meters("n", "a", "ray_");
    prefixed.addHandle(new FakeHandle("digits"));
    List<String> names =
        prefixed.scrape(TEXT).lines().filter(line -> line.startsWith("# TYPE")).toList();
    assertThat(names)
        .contains("# TYPE ray_serve_deployment_queued_queries gauge")
        .contains("# TYPE berth_request_retries_total counter")
        .noneMatch(line -> line.contains(" serve_") || line.contains("ray_berth"));
  }

  @Test
  void aLoopShowsItsTablesAndTheirBounds() {
    meters.addLoop(new FakeLoop());
    assertThat(lines())
        .contains(
            "berth_pending_requests{loop=\"1\"} 5.0",
            "berth_pending_requests_limit{loop=\"1\"} 8192.0",
            "berth_late_answers_dropped_total{loop=\"1\"} 6.0",
            "berth_duplicates_dropped_total{loop=\"1\"} 7.0");
  }

  @Test
  void aSourceThatCannotBeReadHidesNoOther() {
    meters.addGauge(
        "berth_broken",
        "Throws.",
        () -> {
          throw new IllegalStateException("broken for the test");
        });
    meters.addGauge("berth_sound", "Does not.", () -> 1, "kind", "sound");
    assertThat(lines()).contains("berth_sound{kind=\"sound\"} 1.0");
  }

  @Test
  void theMetersOfUserCodeAreShownBesideOurs() {
    meters.registry().counter("orders", "kind", "digits").increment();
    assertThat(lines()).contains("orders_total{kind=\"digits\"} 1.0");
  }

  private List<String> lines() {
    return meters.scrape(TEXT).lines().toList();
  }

  private static final class FakeLoop implements LoopMetricSource {
    @Override
    public int loop() {
      return 1;
    }

    @Override
    public int pending() {
      return 5;
    }

    @Override
    public int maxPending() {
      return 8192;
    }

    @Override
    public int deadlines() {
      return 4;
    }

    @Override
    public int peers() {
      return 3;
    }

    @Override
    public int maxPeers() {
      return 4096;
    }

    @Override
    public long replicaDuplicatesDropped() {
      return 2;
    }

    @Override
    public long falselyHeld() {
      return 1;
    }

    @Override
    public long lateAnswersDropped() {
      return 6;
    }

    @Override
    public long duplicatesDropped() {
      return 7;
    }
  }

  private record FakeReplica(String replicaId, LedgerView.Audit audit)
      implements ReplicaMetricSource {
    @Override
    public DeploymentId deployment() {
      return DIGITS;
    }

    @Override
    public LedgerView ledger() {
      return new LedgerView(
          replicaId, 1, 8, 3, 2, false, 30, 19, 1, 5, 1, new LastAudit(audit, 0, 0, 0, 0, -1));
    }

    @Override
    public long requests() {
      return 20;
    }

    @Override
    public String route() {
      return "/digits";
    }

    @Override
    public Map<String, Long> errors() {
      return Map.of("java.lang.Error", 2L);
    }

    @Override
    public long timeouts() {
      return 3;
    }

    @Override
    public List<LatencyBuckets> processingTimes() {
      LatencyBuckets times = new LatencyBuckets();
      times.add(Duration.ofMillis(70).toNanos());
      return List.of(times);
    }

    @Override
    public long maxProcessingNanos() {
      return Duration.ofMillis(70).toNanos();
    }

    @Override
    public double utilization() {
      return 0.25;
    }

    @Override
    public boolean healthy() {
      return true;
    }

    @Override
    public boolean suspect() {
      return false;
    }

    @Override
    public long healthCheckFailures() {
      return 4;
    }

    @Override
    public LatencyBuckets healthCheckTimes() {
      LatencyBuckets times = new LatencyBuckets();
      times.add(3_000_000);
      return times;
    }

    @Override
    public int maxZombies() {
      return 16;
    }

    @Override
    public int remembered() {
      return 12;
    }

    @Override
    public int maxRemembered() {
      return 16_384;
    }

    @Override
    public int notedRouters() {
      return 1;
    }

    @Override
    public int maxNotedRouters() {
      return 256;
    }
  }
}
