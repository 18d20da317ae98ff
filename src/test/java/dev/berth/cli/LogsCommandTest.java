package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.view.ApplicationStatus;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class LogsCommandTest {
  private static final String LOGS = "GET /api/v1/logs";

  @AutoClose private final FakeInstance instance = new FakeInstance();

  private static String page(String began, long next, long lost, JsonObject... lines) {
    return new JsonObject()
        .put("began", began)
        .put("lines", new JsonArray(List.of(lines)))
        .put("next", next)
        .put("lost", lost)
        .encode();
  }

  private static JsonObject line(String message) {
    return new JsonObject(
            """
            {"number": 1, "time": "2026-01-01T00:00:00.500Z", "level": "WARN",
             "logger": "dev.berth.node.X", "thread": "t", "fields": {"reason": "said \\"no\\""}}
            """)
        .put("message", message);
  }

  @Test
  void aLineIsShownAsTheLogWritesIt() {
    instance.answer(LOGS, 200, page("b", 1, 0, line("m").put("exception", "E: x\n\tat y\n")));

    assertThat(instance.execute("logs")).isZero();
    assertThat(instance.out)
        .hasToString(
            "2026-01-01T00:00:00.500Z WARN  X - m reason=\"said \\\"no\\\"\"\nE: x\n    at y\n");
    assertThat(instance.asked).containsExactly(LOGS + "?limit=100");
  }

  @Test
  void linesAreAskedForByWhatTheyAreOf() {
    instance.answer(LOGS, 200, page("b", 0, 0, line("my shop: cart: a#b#c")));

    String[] logs = {
      "logs", "--app=my shop", "--deployment=cart", "--replica=a#b#c", "--level=warn", "-n5"
    };
    assertThat(instance.execute(logs)).isZero();
    assertThat(instance.asked)
        .containsExactly(
            LOGS + "?limit=5&application=my%20shop&deployment=cart&replica=a%23b%23c&level=warn");
  }

  @Test
  void aWrongNameIsAnsweredWithThoseThatThereAre() {
    instance
        .answer(LOGS, 200, page("b", 0, 0))
        .serves(
            FakeInstance.application("shop", ApplicationStatus.RUNNING, "", 1, null),
            FakeInstance.application("till", ApplicationStatus.RUNNING, "", 1, null));

    assertThat(instance.execute("logs", "--app=shop")).as("it has no lines").isZero();
    assertThat(instance.execute("logs", "--app=shop", "--app=shpo", "-f")).isEqualTo(1);
    assertThat(instance.err)
        .hasToString("berth: shpo: no such application (expected: one of shop, till)\n");
  }

  @Test
  void linesOfWhatIsGoneAreShown() {
    instance.answer(LOGS, 200, page("b", 1, 0, line("gone: DELETING -> gone"))).serves();
    assertThat(instance.execute("logs", "--app=gone")).isZero();
    assertThat(instance.out.toString()).contains("gone: DELETING");
  }

  @Test
  void whoFollowsGoesOnWhereItWasAndIsToldWhatItMissed() {
    instance
        .answer(LOGS, 200, page("b", 7, 0, line("one")))
        .answer(LOGS, 200, page("b", 9, 3, line("two")))
        .answer(LOGS, 200, page("b", 9, 0));
    instance.idlePauses = 2;

    assertThat(instance.execute("logs", "-f", "--json")).isZero();
    assertThat(instance.asked)
        .containsExactly(
            LOGS + "?limit=100", LOGS + "?limit=1000&since=7", LOGS + "?limit=1000&since=9");
    assertThat(instance.out.toString().lines().map(JsonObject::new))
        .extracting(line -> line.getString("message"))
        .containsExactly("one", "two");
    assertThat(instance.err).hasToString("berth: 3 lines were missed: no longer stored\n");
  }

  @Test
  void whoFollowsSeesThatTheInstanceWasStartedAnew() {
    instance
        .answer(LOGS, 200, page("first", 900, 0, line("one")))
        .answer(LOGS, 200, page("second", 900, 0))
        .answer(LOGS, 200, page("second", 1, 0, line("anew")));
    instance.idlePauses = 1;

    assertThat(instance.execute("logs", "-f")).isZero();
    assertThat(instance.asked).last().isEqualTo(LOGS + "?limit=1000&since=0");
    assertThat(instance.out.toString()).contains(" - one", " - anew");
    assertThat(instance.err).hasToString("berth: the instance was restarted\n");
  }

  @Test
  void whatIsLoggedIsNotObeyedByTheTerminal() {
    instance.answer(LOGS, 200, page("b", 1, 0, line("\u001b[2Jx")));
    assertThat(instance.execute("logs")).isZero();
    assertThat(instance.out.toString()).contains("?[2Jx").doesNotContain("\u001b");
  }

  @Test
  void whatIsNotUnderstoodIsWrongUsage() {
    instance.answer(
        LOGS, 400, "{\"code\":\"bad_parameter\",\"message\":\"level: not understood\"}");
    assertThat(instance.execute("logs", "--level=loud")).isEqualTo(2);
    assertThat(instance.err).hasToString("berth: level: not understood\n");
    assertThat(instance.execute("logs", "-n", "0")).isEqualTo(2);
  }
}
