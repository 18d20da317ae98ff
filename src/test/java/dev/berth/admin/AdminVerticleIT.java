package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.LedgerRoutes.ReplicaLedger;
import dev.berth.api.DeploymentId;
import dev.berth.view.BatchFill;
import dev.berth.view.LedgerView;
import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class AdminVerticleIT {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00.250Z");
  private volatile LedgerView ledger =
      ledger(30, new LastAudit(Audit.CLEAN, 250_000_000, 2_000_000_000, 0, 0, -1));

  private static LedgerView ledger(long granted, LastAudit audit) {
    return new LedgerView("app#digits#1", 42, 8, 3, 2, false, granted, 19, 1, 5, 1, audit);
  }

  @AutoClose
  private final AdminClient admin =
      new AdminClient(
          new LedgerRoutes(
              () ->
                  List.of(
                      new ReplicaLedger(
                          new DeploymentId("app", "digits"), ledger, new BatchFill(3, 200))),
              () -> NOW));

  @Test
  void metricsAreInPrometheusText() throws Exception {
    admin.meters.add(into -> into.gauge("test", 7));
    HttpResponse<String> response = admin.get("/metrics");
    assertThat(response.headers().firstValue("content-type"))
        .hasValue("text/plain; version=0.0.4; charset=utf-8");
    assertThat(response.body()).contains("test 7.0\n");
  }

  @Test
  void theLedgerShowsEachReplicaWhenItWasAuditedAndTheSums() throws Exception {
    JsonObject json = admin.json("/api/v1/ledger");
    JsonObject replica = json.getJsonArray("replicas").getJsonObject(0);
    assertThat(replica.getString("replica")).isEqualTo("app#digits#1");
    assertThat(replica.getInteger("max_ongoing_requests")).isEqualTo(8);
    assertThat(replica.getLong("granted")).isEqualTo(30);
    assertThat(replica.getLong("batches")).isEqualTo(3);
    assertThat(replica.getDouble("mean_batch_fill_percent")).isEqualTo(66.7);
    assertThat(replica.getLong("expired")).isEqualTo(5);
    assertThat(replica.getString("audit")).isEqualTo("clean");
    assertThat(replica.getString("audited_at")).isEqualTo("2026-01-01T00:00:00Z");
    assertThat(replica.getLong("audited_ms_ago")).isEqualTo(250);
    assertThat(replica.getString("clean_at")).isEqualTo("2025-12-31T23:59:58.250Z");
    assertThat(replica.containsKey("mismatch")).isFalse();
    assertThat(json.getJsonObject("total").getLong("running")).isEqualTo(3);
    assertThat(json.getJsonObject("total").getLong("reserved")).isEqualTo(2);
  }

  @Test
  void aMismatchIsShownAndSummed() throws Exception {
    ledger = ledger(31, new LastAudit(Audit.MISMATCH, 0, -1, 2, 1, 5_000_000));
    JsonObject json = ledger("");
    JsonObject replica = json.getJsonArray("replicas").getJsonObject(0);
    assertThat(replica.getString("audit")).isEqualTo("mismatch");
    assertThat(replica.getValue("clean_at")).isNull();
    assertThat(replica.getJsonObject("mismatch"))
        .isEqualTo(
            new JsonObject()
                .put("difference", 1)
                .put("findings", 2)
                .put("found_at", "2026-01-01T00:00:00.245Z")
                .put("found_ms_ago", 5));
    assertThat(json.getJsonObject("total").getInteger("audit_mismatches")).isEqualTo(1);
  }

  @Test
  void theLedgerCanBeAskedForByName() throws Exception {
    assertThat(ledger("?application=app&deployment=digits").getJsonArray("replicas")).hasSize(1);
    assertThat(ledger("?replica=app%23digits%231&replica=x").getJsonArray("replicas")).hasSize(1);
    JsonObject none = ledger("?application=app&deployment=other");
    assertThat(none.getJsonArray("replicas")).isEmpty();
    assertThat(none.getJsonObject("total").getInteger("granted")).isZero();
  }

  @Test
  void aParameterThatIsUnknownOrNotDecodableIsA400() throws Exception {
    HttpResponse<String> response = admin.get("/api/v1/ledger?app=x");
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(response.body()).getString("message"))
        .isEqualTo("app: unknown parameter (expected: application, deployment, replica)");
    assertThat(statusLineFor("localhost", "/api/v1/ledger?replica=%zz"))
        .isEqualTo("HTTP/1.1 400 Bad Request");
  }

  private JsonObject ledger(String query) {
    return admin.json("/api/v1/ledger" + query);
  }

  @Test
  void aRequestThatNamesAnotherHostIsRefused() throws Exception {
    assertThat(statusLineFor("evil.example")).isEqualTo("HTTP/1.1 403 Forbidden");
    assertThat(statusLineFor("localhost:" + admin.port)).isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void healthAndMetricsAnswerWhileAnotherLoopIsBlocked() throws Exception {
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    // The admin server took the first loop, so the next context is on the other.
    admin
        .vertx
        .deployVerticle(
            context -> {
              context.runOnContext(
                  block -> {
                    blocked.countDown();
                    awaitQuietly(over);
                  });
              return Future.succeededFuture();
            })
        .onFailure(failure -> blocked.countDown());
    assertThat(blocked.await(10, TimeUnit.SECONDS)).isTrue();
    try {
      assertThat(admin.get("/-/healthz").statusCode()).isEqualTo(200);
      assertThat(admin.get("/metrics").statusCode()).isEqualTo(200);
      assertThat(admin.get("/api/v1/ledger").statusCode()).isEqualTo(200);
    } finally {
      over.countDown();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await(20, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private String statusLineFor(String host) throws IOException {
    return statusLineFor(host, "/-/healthz");
  }

  private String statusLineFor(String host, String path) throws IOException {
    return admin
        .raw("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
        .lines()
        .findFirst()
        .orElse("");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "//metrics",
        "/./metrics",
        "/metrics/.",
        "/api/v1/../../metrics",
        "/metrics/../api/v1/ledger",
        "/api//v1/ledger",
        "/%6Detrics",
        "/api/v1/%2e%2e/v1/ledger",
      })
  void pathThatIsNotItsNormalFormIsRefused(String path) throws Exception {
    assertThat(statusLineFor("localhost", path)).isEqualTo("HTTP/1.1 400 Bad Request");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/metrics", "/api/v1/ledger?replica=a%2F..%2fb", "/", "/-/healthz"})
  void pathInItsNormalFormIsAnswered(String path) throws Exception {
    assertThat(statusLineFor("localhost", path)).isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void reservedCharactersInNamesMayBeEscaped() throws Exception {
    assertThat(statusLineFor("localhost", "/api/v1/applications/a%20b%2fc"))
        .isEqualTo("HTTP/1.1 404 Not Found");
  }
}
