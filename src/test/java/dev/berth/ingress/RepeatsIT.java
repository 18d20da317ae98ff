package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException.Kind;
import dev.berth.api.DeploymentId;
import dev.berth.api.Headers;
import dev.berth.config.Backpressure;
import dev.berth.routing.DeploymentRouter;
import io.vertx.core.buffer.Buffer;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Clients that repeat by themselves run nothing twice, and what did not run as often as they do.
 */
class RepeatsIT {
  private static final int ATTEMPTS = 3;

  @AutoClose private IngressRig rig;
  private final AtomicInteger runs = new AtomicInteger();

  @BeforeEach
  void start() throws Exception {
    rig = IngressRig.tight(16, IngressRig.LOCAL, IngressRig.SHORTEST);
  }

  /** As openai-python does, but for the waits between. */
  private HttpResponse<String> call(HttpRequest.Builder request) throws Exception {
    HttpResponse<String> answer = null;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      answer = rig.send(request).get(10, TimeUnit.SECONDS);
      String told = answer.headers().firstValue("x-should-retry").orElse("");
      int status = answer.statusCode();
      boolean repeats = status == 408 || status == 409 || status == 429 || status >= 500;
      if (told.equals("false") || (!told.equals("true") && !repeats)) {
        break;
      }
    }
    return answer;
  }

  @ParameterizedTest
  @EnumSource(HttpClient.Version.class)
  void aRequestThatRanIntoItsDeadlineRunsOnce(HttpClient.Version version) throws Exception {
    rig.upstream.behave(call -> runs.incrementAndGet()); // and never answers
    HttpResponse<String> answer =
        call(rig.request("/").version(version).header("x-request-timeout-seconds", "0.1"));
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @CsvSource({
    "TIMEOUT, 408, 1",
    "OUTCOME_UNKNOWN, 502, 1",
    "HANDLER_FAILED, 500, 3",
    "BACK_PRESSURE, 503, 3",
    "DEPLOYMENT_UNAVAILABLE, 503, 3",
    "REPLICA_UNAVAILABLE, 503, 3",
  })
  void whatAReplicaFailedWithIsRepeatedWhereThatIsHarmless(Kind kind, int status, int times)
      throws Exception {
    rig.upstream.behave(
        call -> {
          runs.incrementAndGet();
          call.fail(kind, "why");
        });
    HttpResponse<String> answer = call(rig.request("/"));
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(runs).hasValue(times);
  }

  @Test
  void aRequestThatTimedOutWhileItWaitedMayBeRepeated() throws Exception {
    DeploymentRouter empty = rig.upstream.emptyRouter(new DeploymentId("app", "none"));
    rig.ingress.update(
        RouteTable.of(
            "", Map.of("/", new IngressRoute("app", empty, Backpressure.DEFAULTS, null))));
    HttpResponse<String> answer =
        call(
            rig.request("/")
                .header("accept", "application/json")
                .header("x-request-timeout-seconds", "0.05"));
    assertThat(answer.statusCode()).isEqualTo(408);
    assertThat(answer.headers().firstValue("x-should-retry")).isEmpty();
    assertThat(answer.body()).contains("The request did not run; it can be sent again.");
    rig.eventually("each attempt was a request", () -> rig.answered(408) == ATTEMPTS);
  }

  @Test
  void aBodyThatStandsStillBeforeItsHandlerBeganMayBeSentAgain() throws Exception {
    RawClient raw = rig.raw();
    raw.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf");
    assertThat(raw.readToEnd()).startsWith("HTTP/1.1 408").doesNotContain("x-should-retry");
  }

  @Test
  void aBodyThatStandsStillWhileItsHandlerReadsItMayNot() throws Exception {
    rig.upstream.streamRequests();
    RawClient raw = rig.raw();
    raw.send("POST / HTTP/1.1\r\nHost: t\r\nAccept: application/json\r\n");
    raw.send("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
    rig.upstream.nextCall().credit(1 << 20);
    assertThat(raw.readToEnd())
        .startsWith("HTTP/1.1 408")
        .contains("x-should-retry: false", "The request may have run in part.");
  }

  @ParameterizedTest
  @CsvSource({"408, , 1", "409, , 1", "409, false, 1", "409, true, 3", "429, , 3", "503, , 3"})
  void whatAHandlerAnswersIsRepeatedWhereItSaysSoOrAsksToComeBack(
      int status, @Nullable String says, int times) throws Exception {
    Headers headers = says == null ? Headers.empty() : Headers.of("X-Should-Retry", says);
    rig.upstream.behave(
        call -> {
          runs.incrementAndGet();
          call.respond(status, headers, Buffer.buffer());
        });
    HttpResponse<String> answer = call(rig.request("/"));
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(answer.headers().allValues("x-should-retry")).hasSizeLessThan(2);
    assertThat(runs).hasValue(times);
  }
}
