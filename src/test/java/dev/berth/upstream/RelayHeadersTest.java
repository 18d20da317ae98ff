package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.fakes.FakeParent;
import dev.berth.upstream.client.AddressPolicy;
import dev.berth.upstream.client.UpstreamTarget;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The headers and targets that cross to an upstream and back. */
class RelayHeadersTest {
  private static UpstreamSettings settings(
      String strip, String prefix, Set<String> pass, Headers secret) {
    return settings(strip, prefix, false, null, pass, secret);
  }

  static UpstreamSettings settings(
      String strip,
      String prefix,
      boolean openAi,
      @Nullable String model,
      Set<String> pass,
      Headers secret) {
    UpstreamTarget target =
        new UpstreamTarget(
            "u",
            80,
            null,
            null,
            new UpstreamTarget.ExchangeTimeouts(0, 0, 0),
            1,
            new AddressPolicy(false, Set.of(), Set.of(), Map::of, null),
            new UpstreamTarget.HttpChoice(UpstreamTarget.HttpVersions.HTTP_1, 0));
    return new UpstreamSettings(
        target, strip, prefix, openAi, model, pass, secret, 1, Set.of(), false, true, 0, 0, null);
  }

  private static List<String> sent(Headers from, Set<String> pass, Headers secret) {
    Request request = Request.of("GET", "/", null, from, Buffer.buffer());
    FakeParent parent = new FakeParent();
    parent.requestId = "id-1";
    return lines(
        RelayHeaders.toUpstream(
            request, parent.requestId(), settings("", "", pass, secret), "1.1 berth-1"));
  }

  private static List<String> lines(Headers headers) {
    List<String> lines = new ArrayList<>();
    headers.forEach((name, value) -> lines.add(name + ": " + value));
    return lines;
  }

  @Test
  @Timeout(5)
  void manyNamesOfConnectionCostNoTimePerHeader() {
    String[] pairs = new String[2 * 9_500];
    Arrays.fill(pairs, "b");
    pairs[0] = "connection";
    pairs[1] = "a,".repeat(12_000);
    assertThat(lines(RelayHeaders.toClient(Headers.of(pairs)))).hasSize(9_499);
  }

  @Test
  void namesOfBerthAndAliasesOfDroppedNamesDoNotPass() {
    Headers from =
        Headers.of("X_Api_Key", "a", "x_berth_replica", "b", "Authorization", "c", "ok", "d");
    assertThat(sent(from, Set.of(), Headers.empty())).contains("ok: d").hasSize(3);
    Headers back = Headers.of("X-Berth-Replica", "evil", "ok", "d");
    assertThat(lines(RelayHeaders.toClient(back))).containsExactly("ok: d");
  }

  @Test
  void headersOfOneHopAndThoseNamedByConnectionAreDropped() {
    Headers from =
        Headers.of(
            "Connection", "close, X-Hop",
            "connection", "x-other",
            "X-Hop", "1",
            "x-other", "2",
            "TE", "trailers",
            "Upgrade", "h2c",
            "Keep-Alive", "timeout=5",
            "Host", "client",
            "Content-Length", "3",
            "Expect", "100-continue",
            "traceparent", "00-1-2-01",
            "Accept", "a",
            "accept", "b");
    assertThat(sent(from, Set.of(), Headers.empty()))
        .containsExactly(
            "traceparent: 00-1-2-01",
            "accept: a",
            "accept: b",
            "x-request-id: id-1",
            "via: 1.1 berth-1");
    assertThat(lines(RelayHeaders.toClient(from)))
        .containsExactly("Content-Length: 3", "traceparent: 00-1-2-01", "Accept: a", "accept: b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Authorization",
        "Proxy-Authorization",
        "X-Api-Key",
        "api-key",
        "Cookie",
        "x-berth-explain"
      })
  void credentialsOfTheClientPassOnlyIfTheOperatorLetsThem(String name) {
    Headers from = Headers.of(name, "v");
    String lower = name.toLowerCase(java.util.Locale.ROOT);
    assertThat(sent(from, Set.of(), Headers.empty())).noneMatch(line -> line.startsWith(lower));
    assertThat(sent(from, Set.of(lower), Headers.empty())).contains(lower + ": v");
  }

  @ParameterizedTest
  @ValueSource(strings = {"OpenAI-Organization", "openai_project", "x-berth-model"})
  void accountOfTheClientDoesNotPassWithOpenAi(String name) {
    Request request = Request.of("GET", "/", null, Headers.of(name, "v"), Buffer.buffer());
    UpstreamSettings openAi =
        settings("", "", true, null, Set.of("x-berth-model"), Headers.empty());
    assertThat(
            RelayHeaders.toUpstream(request, new FakeParent().requestId(), openAi, "via").get(name))
        .isNull();
    UpstreamSettings proxy =
        settings("", "", false, null, Set.of("x-berth-model"), Headers.empty());
    assertThat(
            RelayHeaders.toUpstream(request, new FakeParent().requestId(), proxy, "via").get(name))
        .isEqualTo("v");
  }

  @Test
  void requestIdOfTheOperatorReplacesTheOneOfTheRequest() {
    assertThat(sent(Headers.empty(), Set.of(), Headers.of("x-request-id", "fixed")))
        .containsExactly("via: 1.1 berth-1", "x-request-id: fixed");
  }

  @Test
  void secretHeadersReplaceThoseOfTheClient() {
    Headers from = Headers.of("Authorization", "mine", "X-Request-ID", "faked", "Via", "1.0 proxy");
    assertThat(sent(from, Set.of("authorization"), Headers.of("authorization", "Bearer s")))
        .containsExactly(
            "via: 1.0 proxy", "x-request-id: id-1", "via: 1.1 berth-1", "authorization: Bearer s");
  }

  @ParameterizedTest
  @CsvSource({
    "'', '', '', /a/b, /a/b",
    "'', /models, '', /models, /",
    "'', /models, '', /models/, /",
    "'', /models, /v1, /models, /v1",
    "'', /models, /v1, /models/chat, /v1/chat",
    "'', /models, /v1, /modelsx, /v1/modelsx",
    "/root, /models, /v1, /root/models/chat, /v1/chat",
    "/root, /models, /v1, /models/chat, /v1/chat",
    "'', '', /v1, /, /v1/",
  })
  void targetIsThePathAfterTheRoute(
      String root, String strip, String prefix, String path, String target) {
    UpstreamSettings settings = settings(strip, prefix, Set.of(), Headers.empty());
    Request request = Request.get(path);
    assertThat(RelayHeaders.target(request, settings, root)).isEqualTo(target);
    assertThat(RelayHeaders.target(request.withQuery("a=b?c"), settings, root))
        .isEqualTo(target + "?a=b?c");
  }

  @ParameterizedTest
  @CsvSource({
    "'', /v1/chat/completions, /v1/chat/completions",
    "/openai/v1, /v1/chat/completions, /openai/v1/chat/completions",
    "/v1beta/openai, /v1/models, /v1beta/openai/models",
    "/api, /v1, /api",
    "/api, /v11/chat, /api/v11/chat",
  })
  void pathPrefixReplacesTheVersionWithOpenAi(String prefix, String path, String target) {
    UpstreamSettings openAi = settings("/llm", prefix, true, null, Set.of(), Headers.empty());
    assertThat(RelayHeaders.target(Request.get("/llm" + path), openAi, "")).isEqualTo(target);
  }

  @ParameterizedTest
  @CsvSource({
    "/a/../b, true",
    "/.., true",
    "/./a, true",
    "/a/%2e%2E/b, true",
    "/a/..%2fb, true",
    "/a%5c..%5Cb, true",
    "/a/..;x/b, true",
    "/a/..b, false",
    "/a/.well-known/b, false",
    "/a/b...c/%20, false",
    "/v1.2/, false",
  })
  void dotSegmentsAreFoundInEachForm(String path, boolean found) {
    assertThat(RelayHeaders.hasDotSegment(path)).isEqualTo(found);
  }

  @ParameterizedTest
  @CsvSource({
    "2, 2000",
    "0, 0",
    "-1, -1",
    "soon, -1",
    "'Thu, 01 Jan 1970 00:00:10 GMT', 10000",
    "'Wed, 01 Jan 1969 00:00:00 GMT', -1",
    "99999999999, -1",
  })
  void retryAfterIsSecondsOrDate(String value, long millis) {
    assertThat(
            RelayHeaders.retryAfterMillis(Headers.of("Retry-After", value), new FakeParent()::now))
        .isEqualTo(millis);
  }
}
