package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.LogLine;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class LogRoutesTest {
  @AutoClose private static final AdminClient ADMIN = new AdminClient(new LogRoutes(ring()));

  private static LogRing ring() {
    LogRing ring = new LogRing(2, 1 << 20, Instant.EPOCH);
    ring.add(new LogLine(0, "INFO", "gone", "t", "gone", Map.of(), null));
    ring.add(
        new LogLine(
            1_500, "WARN", "shop.cart", "t", "no\nway", Map.of("replica", "shop#cart#1"), "stack"));
    ring.add(new LogLine(2_000, "INFO", "dev.berth.X", "t", "on", Map.of(), null));
    return ring;
  }

  private static JsonObject lines(String query) {
    return ADMIN.json("/api/v1/logs" + query);
  }

  private static JsonArray numbers(String query) {
    JsonArray numbers = new JsonArray();
    for (Object line : lines(query).getJsonArray("lines")) {
      numbers.add(((JsonObject) line).getValue("number"));
    }
    return numbers;
  }

  @Test
  void aLineIsGivenWithItsNumberItsFieldsAndItsStack() {
    assertThat(lines("?level=warn"))
        .isEqualTo(
            new JsonObject(
                """
                {"began": "1970-01-01T00:00:00Z", "next": 3, "lost": 0, "lines": [
                  {"number": 2, "time": "1970-01-01T00:00:01.500Z", "level": "WARN",
                   "logger": "shop.cart", "thread": "t", "message": "no\\nway",
                   "fields": {"replica": "shop#cart#1"}, "exception": "stack"}
                ]}
                """));
  }

  @Test
  void whoAsksForMoreThanIsKeptIsToldHowManyAreLost() {
    JsonObject page = lines("?since=0&limit=1");
    assertThat(page.getInteger("lost")).isEqualTo(1);
    assertThat(page.getInteger("next")).isEqualTo(2);
  }

  @Test
  void linesAreChosenByWhatTheyAreOf() {
    assertThat(numbers("")).containsExactly(2, 3);
    assertThat(numbers("?since=2")).containsExactly(3);
    assertThat(numbers("?application=x&application=shop")).containsExactly(2);
    assertThat(numbers("?application=shop&deployment=cart&replica=shop%23cart%231"))
        .containsExactly(2);
    assertThat(numbers("?deployment=till")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "?since=-1 | since: not understood (expected: an integer of at least 0)",
        "?limit=0&since=x | since: not understood (expected: an integer of at least 0)",
        "?limit=0 | limit: not understood (expected: an integer from 1 to 10000)",
        "?level=LOUD | level: not understood (expected: one of TRACE, DEBUG, INFO, WARN, ERROR)",
        "?levels=INFO | levels: unknown parameter (expected: since, limit, application, deployment,"
            + " replica, level)"
      })
  void whatIsNotUnderstoodIsRefused(String query, String problem) {
    HttpResponse<String> refused = ADMIN.get("/api/v1/logs" + query);
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(refused.body()).getString("message")).isEqualTo(problem);
  }
}
