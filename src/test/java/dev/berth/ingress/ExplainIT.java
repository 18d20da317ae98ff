package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.config.Backpressure;
import dev.berth.config.HttpOptions;
import dev.berth.fakes.Explained;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import io.vertx.core.MultiMap;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests that ask to be explained, at the ingress. */
class ExplainIT {
  @AutoClose private IngressRig rig;

  @BeforeEach
  void start() throws Exception {
    rig = new IngressRig(IngressRig.LOCAL).route("/");
  }

  private HttpRequest.Builder explained(String path) {
    return rig.request(path).header("X-Berth-Explain", "1");
  }

  private RequestExplanation record() throws Exception {
    RequestExplanation record = rig.upstream.explained.poll(10, TimeUnit.SECONDS);
    assertThat(record).isNotNull();
    RequestPhaseTimes p = record.phases();
    assertThat(Explained.sum(p)).isEqualTo(p.total());
    assertThat(p.total()).isPositive();
    assertThat(rig.upstream.explained).isEmpty();
    return record;
  }

  @Test
  void theResponseSaysItsReplicaAndOverheadAndTheRecordTheRest() throws Exception {
    rig.upstream.behave(call -> call.respond("ok"));
    HttpResponse<String> response =
        rig.answer(explained("/a?secret=1").header("X-Request-ID", "r-1"));

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("x-berth-replica")).hasValue("app#model#1");
    long overhead = response.headers().firstValueAsLong("x-berth-overhead-us").orElse(-1);
    RequestExplanation record = record();
    assertThat(overhead).isBetween(1L, record.phases().total() / 1_000);
    assertThat(record.requestId()).isEqualTo("r-1");
    assertThat(record.request()).isEqualTo("GET /a");
    assertThat(record.status()).isEqualTo(200);
    assertThat(record.phases().receive()).isZero();
    assertThat(record.toString()).doesNotContain("secret");
  }

  @Test
  void aStreamedResponseSaysItInItsHead() throws Exception {
    rig.upstream.behave(call -> call.stream("all"));
    HttpResponse<String> response = rig.answer(explained("/"));

    assertThat(response.body()).isEqualTo("all");
    assertThat(response.headers().firstValue("x-berth-replica")).isPresent();
    assertThat(response.headers().firstValue("x-berth-overhead-us")).isPresent();
    assertThat(record().phases().stream()).isPositive();
  }

  @Test
  void whoDoesNotAskIsToldNothing() throws Exception {
    rig.upstream.behave(call -> call.respond("ok"));
    HttpResponse<String> response = rig.answer(rig.request("/"));

    assertThat(response.headers().map())
        .doesNotContainKeys("x-berth-replica", "x-berth-overhead-us");
    assertThat(rig.upstream.nextCall().message.explained()).isFalse();
    assertThat(rig.upstream.explained).isEmpty();
  }

  @Test
  void anErrorIsExplainedWithWhatIsKnown() throws Exception {
    rig.upstream.behave(call -> call.fail(BerthException.Kind.HANDLER_FAILED, "no"));
    HttpResponse<String> failed = rig.answer(explained("/"));
    assertThat(failed.statusCode()).isEqualTo(500);
    assertThat(failed.headers().firstValue("x-berth-replica")).hasValue("app#model#1");
    assertThat(record().outcome()).isEqualTo("handler_failed");

    rig.upstream.behave(call -> {});
    HttpResponse<String> late =
        rig.answer(explained("/").header("X-Request-Timeout-Seconds", "0.05"));
    assertThat(late.statusCode()).isEqualTo(408);
    assertThat(late.headers().firstValue("x-berth-overhead-us")).isPresent();
    assertThat(record().outcome()).isEqualTo("timeout");

    DeploymentId gone = new DeploymentId("app", "gone");
    rig.route("/", rig.upstream.failedRouter(gone), Backpressure.DEFAULTS);
    HttpResponse<String> refused = rig.answer(explained("/"));
    assertThat(refused.statusCode()).isEqualTo(503);
    assertThat(refused.headers().firstValue("x-berth-replica")).isEmpty();
    RequestExplanation record = record();
    assertThat(record.outcome()).isEqualTo("deployment_unavailable");
    assertThat(record.deployment()).isEqualTo(gone);
  }

  @Test
  void aRequestThatNoRouteTakesIsNotExplained() throws Exception {
    rig.route("/only");
    HttpResponse<String> response = rig.answer(explained("/other"));
    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(response.headers().firstValue("x-berth-overhead-us")).isEmpty();
    assertThat(rig.upstream.explained).isEmpty();
  }

  @Test
  void aBodyThatIsTooLargeEndsTheRecordWithoutARouter() throws Exception {
    rig.close();
    rig =
        new IngressRig(
                IngressRig.limits(16, IngressRig.LOCAL, IngressRig.SHORT)
                    .with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, IngressRig.SHORT))
            .route("/");
    HttpResponse<String> response =
        rig.answer(
            explained("/")
                .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[IngressRig.MAX_BODY + 1])));
    assertThat(response.statusCode()).isEqualTo(413);
    RequestExplanation record = record();
    assertThat(record.outcome()).isEqualTo("body_too_large");
    assertThat(record.candidates()).isEmpty();
  }

  @Test
  void aClientThatLeavesIsExplained() throws Exception {
    RawClient raw = rig.raw().get("/", "X-Berth-Explain: true");
    rig.upstream.nextCall();
    raw.close();
    RequestExplanation record = record();
    assertThat(record.status()).isEqualTo(499);
    assertThat(record.outcome()).isEqualTo("client_gone");
  }

  @ParameterizedTest
  @CsvSource({
    "true, 0, 1, true",
    "true, 0, true, true",
    "true, 0, TRUE, true",
    "true, 0, 0, false",
    "true, 0, yes, false",
    "true, 0, , false",
    "false, 0, 1, false",
    "false, 1, , true",
    "false, 1, 0, true",
  })
  void theHeaderOrTheSampleDecides(
      boolean byHeader, double sampleRate, @Nullable String value, boolean expected) {
    MultiMap headers = MultiMap.caseInsensitiveMultiMap();
    if (value != null) {
      headers.set("X-Berth-Explain", value);
    }
    ExplainSampler rule =
        new ExplainSampler(byHeader, sampleRate, new SplittableRandom(1), Set.of());
    assertThat(rule.picks(headers)).isEqualTo(expected);
  }

  @Test
  void aSampleIsAboutAsLargeAsItsRate() {
    ExplainSampler rule = new ExplainSampler(true, 0.1, new SplittableRandom(7), Set.of());
    int picked = 0;
    for (int request = 0; request < 10_000; request++) {
      picked += rule.picks(MultiMap.caseInsensitiveMultiMap()) ? 1 : 0;
    }
    assertThat(picked).isBetween(850, 1_150); // within 5 standard deviations
  }
}
