package dev.berth.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.DialectProblem;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CostRuleTest {
  private static final CostRule FIELD = rule(Map.of("json_field", "n", "per_slot", 512));

  private static Settings deployment(Map<String, ?> cost, Map<String, ?> berth) {
    Map<String, Object> own = new java.util.HashMap<>(berth);
    own.put("cost", cost);
    return DeploymentConfig.fromMap(Map.of("name", "d", "max_ongoing_requests", 8, "berth", own));
  }

  private static CostRule rule(Map<String, ?> cost) {
    return Objects.requireNonNull(CostRule.of(deployment(cost, Map.of())));
  }

  private static String result(CostRule rule, MultiMap headers, long bytes, String body) {
    try {
      return String.valueOf(rule.slots(headers, bytes, Buffer.buffer(body)));
    } catch (DialectProblem problem) {
      assertThat(problem.response().status()).isEqualTo(400);
      assertThat(problem.response().code()).isEqualTo("invalid_cost");
      return problem.response().message();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|1",
        "8|8",
        "9|berth.cost.header: X-Cost: 9 (expected: a whole number from 1 to 8)",
        "0|berth.cost.header: X-Cost: 0 (expected: a whole number from 1 to 8)",
        "-1|berth.cost.header: X-Cost: -1 (expected: a whole number from 1 to 8)",
        "1e9|berth.cost.header: X-Cost: 1e9 (expected: a whole number from 1 to 8)",
        "65535|berth.cost.header: X-Cost: 65535 (expected: a whole number from 1 to 8)",
        "99999999999999999999|berth.cost.header: X-Cost: 99999999999999999999 (expected: a whole"
            + " number from 1 to 8)",
        "1;2|berth.cost.header: X-Cost: 1, 2 (expected: a whole number from 1 to 8)",
        "1;1|berth.cost.header: X-Cost: 1, 1 (expected: a whole number from 1 to 8)",
        "''|berth.cost.header: X-Cost: missing (expected: a whole number from 1 to 8)"
      })
  void headerHasOneNumber(String values, String result) {
    MultiMap headers = MultiMap.caseInsensitiveMultiMap();
    List.of(values.split(";")).stream()
        .filter(each -> !each.isEmpty())
        .forEach(each -> headers.add("x-cost", each));
    assertThat(result(rule(Map.of("header", "X-Cost")), headers, 0, "")).isEqualTo(result);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0|1",
        "1|1",
        "100|1",
        "101|2",
        "800|8",
        "801|berth.cost.body_bytes_per_slot: bytes: 801 (expected: a whole number from 1 to 800)",
        "9223372036854775807|berth.cost.body_bytes_per_slot: bytes: 9223372036854775807"
            + " (expected: a whole number from 1 to 800)"
      })
  void bytesOfTheBodyAreRoundedUp(long bytes, String result) {
    CostRule rule = rule(Map.of("body_bytes_per_slot", 100));
    assertThat(result(rule, MultiMap.caseInsensitiveMultiMap(), bytes, "")).isEqualTo(result);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"n\":1}|1",
        "{\"n\":512}|1",
        "{\"n\":513}|2",
        "{\"n\":4096}|8",
        "{\"n\":4097}|berth.cost.json_field: n: 4097 (expected: a whole number from 1 to 4096)",
        "{\"n\":1.5}|berth.cost.json_field: n: 1.5 (expected: a whole number from 1 to 4096)",
        "{\"n\":\"5\"}|berth.cost.json_field: n: \"5\" (expected: a whole number from 1 to 4096)",
        "{}|berth.cost.json_field: n: missing (expected: a whole number from 1 to 4096)",
        "``|berth.cost.json_field: n: missing (expected: a whole number from 1 to 4096)",
        "{\"n\"|berth.cost.json_field: body: broken JSON at byte 4 (expected: one JSON object)",
        "{\"n\":1,\"N\":2}|berth.cost.json_field: N: present twice, or not as n (expected: one"
            + " value)"
      })
  void memberOfTheBodyIsRoundedUp(String body, String result) {
    assertThat(result(FIELD, MultiMap.caseInsensitiveMultiMap(), 0, body)).isEqualTo(result);
  }

  @Test
  void controlCharactersOfAValueAreNotReturned() {
    assertThat(result(FIELD, MultiMap.caseInsensitiveMultiMap(), 0, "{\"n\":[\r\n]}"))
        .contains("n: [??] (expected");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "5|5",
        "9|berth.cost.default: X-Cost: 9 (expected: a whole number from 1 to 8)",
      })
  void requestWithoutTheHeaderHasTheDefault(int otherwise, String result) {
    CostRule rule = rule(Map.of("header", "X-Cost", "default", otherwise));
    assertThat(result(rule, MultiMap.caseInsensitiveMultiMap(), 0, "")).isEqualTo(result);
    MultiMap bad = MultiMap.caseInsensitiveMultiMap().add("X-Cost", "x");
    assertThat(result(rule, bad, 0, "")).startsWith("berth.cost.header: X-Cost: x");
  }

  @Test
  void largestPartOfTheUpstreamsIsTheMaximum() {
    CostRule rule =
        CostRule.of(
            deployment(
                Map.of("header", "X-Cost"),
                Map.of(
                    "upstreams",
                    List.of(
                        Map.of("url", "http://a:1", "max_ongoing_requests", 16, "owners", 3),
                        Map.of("url", "http://b:1", "max_ongoing_requests", 5)))));
    assertThat(Objects.requireNonNull(rule).maxSlots()).isEqualTo(6);
  }

  @Test
  void problemOfAMemberNamesItAsTheParameter() {
    DialectProblem problem =
        catchThrowableOfType(
            DialectProblem.class,
            () -> FIELD.slots(MultiMap.caseInsensitiveMultiMap(), 0, Buffer.buffer("{}")));
    @Nullable String param = problem.param();
    assertThat(param).isEqualTo("n");
  }
}
