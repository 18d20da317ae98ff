package dev.berth.config;

import static dev.berth.config.Yaml.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** One more key in a section of its own: what is declared of it is found everywhere. */
class OneDeclarationTest {

  private static final Keys KEYS = new Keys();
  private static final ConfigKey<Duration> LONGEST_S =
      KEYS.key("longest_s", Types.SECONDS, Duration.ofSeconds(8)).means("Of all.");

  private static final ConfigKey<Integer> OLD =
      KEYS.key("old", Types.integer(0, 9, ""), 0).reaches(ChangeReach.NOTHING).means("Not used.");

  private static final Keys INNER = new Keys();
  private static final ConfigKey<Duration> LINGER_S =
      INNER
          .key("linger_s", Types.SECONDS)
          .fallback(all -> all.get(LONGEST_S).dividedBy(2), "half of longest_s")
          .atMost(() -> LONGEST_S)
          .reaches(ChangeReach.REPLICA_RECREATE)
          .means("How long to linger.");

  private static final ConfigKey<Settings> BERTH =
      KEYS.mapping("berth", INNER.section()).means("Ours.");
  private static final Section SECTION = KEYS.section().check(Settings::checkBounds);

  private final ParseContext top =
      ParseContext.top("f.yaml", Path.of(""), SECTION::pathOf, false, jar -> null);

  private Settings read(String text) {
    return SECTION.read(BoundedParser.compose("f.yaml", text).orElseThrow(), top);
  }

  private List<String> problems(String text) {
    read(text);
    return top.problems().first().stream().map(ConfigProblem::toString).toList();
  }

  @Test
  void itIsReadWhereTheFileHasIt() {
    assertThat(read("berth: {linger_s: 2.5}").get(LINGER_S)).isEqualTo(Duration.ofMillis(2500));
  }

  @Test
  void itIsCheckedInTheFileWithAllThatIsWrong() {
    assertThat(problems("berth: {linger_s: 0, linger: 1}"))
        .containsExactly(
            "f.yaml:1:19: berth.linger_s: 0"
                + " (expected: a number of seconds above 0, at most 31536000)",
            "f.yaml:1:22: berth.linger: unknown key, did you mean linger_s?"
                + " (expected: one of linger_s)");
  }

  @Test
  void itIsBoundedByTheKeyThatItNames() {
    assertThat(problems("{longest_s: 3, berth: {linger_s: 4}}"))
        .containsExactly("f.yaml:1:34: berth.linger_s: 4 (expected: at most longest_s, 3)");
    refused(
        () -> SECTION.empty().with(LINGER_S, Duration.ofSeconds(9)),
        "linger_s: 9 (expected: at most longest_s, 8)");
  }

  @Test
  void codeIsHeldToItsRange() {
    refused(
        () -> SECTION.empty().with(LINGER_S, Duration.ZERO),
        "linger_s: 0 (expected: a number of seconds above 0, at most 31536000)");
  }

  @Test
  void theFileWinsOverCodeAndCodeOverTheDefault() {
    Settings code = SECTION.empty().with(LINGER_S, Duration.ofSeconds(2));
    assertThat(read("berth: {linger_s: 1}").over(code).get(LINGER_S)).hasSeconds(1);
    assertThat(read("longest_s: 4").over(code).get(LINGER_S)).hasSeconds(2);
    assertThat(read("longest_s: 4").get(LINGER_S)).hasSeconds(2);
    assertThat(SECTION.empty().get(LINGER_S)).hasSeconds(4);
  }

  @Test
  void editorsAndReadersAreToldOfIt() {
    assertThat(new JsonObject(SECTION.schema()).encode())
        .contains("\"linger_s\":{\"type\":\"number\"", "\"description\":\"How long to linger.\"");
    assertThat(Reference.render(SECTION))
        .contains(
            "| `linger_s` | `half of longest_s` | s | a number of seconds above 0, at most 31536000"
                + " | How long to linger. |");
  }

  @Test
  void whatHoldsIsToldAndWhatAChangeOfItNeeds() {
    Settings said = read("berth: {linger_s: 2.5}");
    assertThat(said).hasToString("{longest_s=8, berth={linger_s=2.5}}");
    assertThat(said.reaching(ChangeReach.REPLICA_RECREATE))
        .isEqualTo(
            SECTION
                .empty()
                .with(LINGER_S, Duration.ofMillis(2500))
                .reaching(ChangeReach.REPLICA_RECREATE))
        .isNotEqualTo(SECTION.empty().reaching(ChangeReach.REPLICA_RECREATE));
    assertThat(said.reaching(ChangeReach.REPLICA_LIVE)).isEqualTo(Map.of());
    assertThat(said).isNotEqualTo(SECTION.empty());
  }

  @Test
  void whatReachesNothingIsNeitherShownNorCompared() {
    assertThat(read("old: 3").get(OLD)).isEqualTo(3);
    assertThat(read("old: 3"))
        .isEqualTo(SECTION.empty())
        .hasSameHashCodeAs(SECTION.empty())
        .hasToString("{longest_s=8, berth={linger_s=4}}");
  }

  @Test
  void itIsFoundThroughTheMappingAroundItAndNowhereElse() {
    assertThat(read("berth: {linger_s: 1}").get(BERTH).get(LINGER_S)).hasSeconds(1);
    refused(
        () -> ServeConfig.DEFAULTS.get(LINGER_S),
        "linger_s: foreign key (expected: one of its own)");
  }
}
