package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.architecture.PlainWords.Part;
import dev.berth.architecture.PlainWords.Rule;
import dev.berth.architecture.PlainWords.Violation;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Comments, names, texts and documents keep to the prose rules, and a planted violation of each
 * rule fails. {@code docs/budgets.txt} has a row {@code words SCOPE/RULE MOST} for each scope that
 * still breaks a rule; a row may only fall.
 */
class PlainWordsTest {
  private static final Path MAIN = Path.of("src/main/java");
  private static final int MAX_SENTENCE_WORDS = 30;
  private static final int MAX_DOUBLE_NAMES = 15;

  /** Types of one word: standard terms, public types, and messages whose names are formats. */
  private static final Set<String> WELL_KNOWN =
      Set.of(
          """
          Acceptor Address Admission Announce Answer Answered Application Asked Asker Audit
          Autoscaler Autoscaling Backoff Backpressure Batch Beat Body Broadcast Build Built Bus
          Canary Cancelled Candidate Candidates Collector Command Configure Connection Connector
          Context Controller Counter Decided Declared Deployment Drain Endpoint Environment Epoch
          Event Failed Fence Fingerprint Forget Found Gauge Grant Handshake Head Headers Held
          Histogram Identity Ingress Input Inventory Invocation Jar Journal Json Keys Kind Lease
          Leaving Link Listener Loop Main Malformed Member Membership Meter Meters Node Offer
          Output Overlay Paused Peer Pending Pick Placement Positions Problems Produced Producer
          Publish Ranking Reader Received Reconciler Recovered Refusal Remember Replica Reported
          Request Rescale Reservation Reservations Response Router Routers Sample Scaled Schema
          Secret Secrets Section Selections Session Setting Settings Severity Shell Slots
          Snapshots Started State Streamed Subscriber Table Terminal Thrown Tier Timeout Timer
          Token Transport Type Types Uncordon Unroute Unsettled Urgent Utilization Waiter Welcome
          Whole Wire Wish Withdrawn Work Writer
          """
              .strip()
              .split("\\s+"));

  /** Names that stay: {@link #WELL_KNOWN} types, and methods of the public API. */
  private static final Set<String> ALLOWED =
      Stream.concat(WELL_KNOWN.stream(), Stream.of("joined", "answered"))
          .collect(Collectors.toSet());

  @TempDir Path dir;

  private static Budgets budgets() throws IOException {
    return Budgets.of(Files.readAllLines(Budgets.FILE), Path.of("docs/decisions"));
  }

  static List<Path> pages() throws IOException {
    try (Stream<Path> found = Files.walk(Path.of("docs"))) {
      return Stream.concat(Stream.of(Path.of("README.md")), found)
          .filter(page -> page.toString().endsWith(".md"))
          .sorted()
          .toList();
    }
  }

  private static List<String> overBudget(PlainWords words, Budgets budgets) {
    List<String> problems = new ArrayList<>();
    words
        .byScopeAndRule()
        .forEach(
            (row, all) -> {
              List<Violation> found =
                  all.stream().filter(each -> !ALLOWED.contains(each.text())).toList();
              int most = budgets.of("words", row, 0);
              if (found.size() > most) {
                problems.add(
                    "%s: %s places (expected: at most %s by %s)%n  %s"
                        .formatted(
                            row,
                            found.size(),
                            most,
                            Budgets.FILE,
                            String.join("\n  ", found.stream().map(Violation::message).toList())));
              }
            });
    return problems;
  }

  @Test
  void sourcesKeepToTheirBudgets() throws IOException {
    assertThat(overBudget(PlainWords.ofSources(List.of(MAIN)), budgets())).isEmpty();
  }

  @Test
  void pagesKeepToTheirBudgets() throws IOException {
    assertThat(overBudget(PlainWords.ofPages(pages()), budgets())).isEmpty();
  }

  @Test
  void descriptionsOfKeysAndMetricsArePlain() throws IOException {
    List<String> texts = new ArrayList<>();
    collectDescriptions(
        new JsonObject(Files.readString(Path.of("docs/berth.schema.json"))).getMap(), texts);
    assertThat(texts).hasSizeGreaterThan(100);
    assertThat(overBudget(PlainWords.ofTexts("docs/berth.schema.json", texts), budgets()))
        .isEmpty();
    Properties metrics = new Properties();
    metrics.load(
        new StringReader(
            Files.readString(Path.of("src/main/resources/dev/berth/metrics/metrics.properties"))));
    assertThat(metrics).hasSizeGreaterThan(50);
    List<String> help = metrics.values().stream().map(String::valueOf).toList();
    assertThat(overBudget(PlainWords.ofTexts("metrics.properties", help), budgets())).isEmpty();
  }

  private static void collectDescriptions(Map<String, Object> schema, List<String> texts) {
    schema.forEach(
        (key, value) -> {
          if (key.equals("description") && value instanceof String text) {
            texts.add(text);
          } else if (value instanceof Map<?, ?> nested) {
            collectDescriptions(new JsonObject(cast(nested)).getMap(), texts);
          } else if (value instanceof List<?> all) {
            new JsonArray(all)
                .stream()
                    .filter(JsonObject.class::isInstance)
                    .forEach(each -> collectDescriptions(((JsonObject) each).getMap(), texts));
          }
        });
  }

  @SuppressWarnings("unchecked") // JSON objects have string keys
  private static Map<String, Object> cast(Map<?, ?> nested) {
    return (Map<String, Object>) nested;
  }

  /** A row may be no higher than the level of its rule, and no higher than today's count. */
  @Test
  void rowsAreAtTheLevelOfTheirRuleAndAtTodaysCount() throws IOException {
    PlainWords sources = PlainWords.ofSources(List.of(MAIN));
    PlainWords pages = PlainWords.ofPages(pages());
    Map<String, Integer> counts = new TreeMap<>();
    sources.byScopeAndRule().forEach((row, found) -> counts.put(row, found.size()));
    pages.byScopeAndRule().forEach((row, found) -> counts.put(row, found.size()));
    List<String> problems = new ArrayList<>();
    budgets()
        .most()
        .forEach(
            (key, most) -> {
              if (key.startsWith("words ") && !key.endsWith("/I4")) {
                String row = key.substring("words ".length());
                int now = counts.getOrDefault(row, 0);
                if (now < most) {
                  problems.add(row + " " + most + " (expected: " + now + ", today's count)");
                }
                Rule rule = rule(row.substring(row.lastIndexOf('/') + 1));
                PlainWords of = rule.part() == Part.PAGE ? pages : sources;
                int all = of.count(row.substring(0, row.lastIndexOf('/')), rule.part());
                int level = (int) (rule.level() * all / rule.part().per);
                if (most > level) {
                  problems.add(
                      "%s %s (expected: at most %s, the level of %s)"
                          .formatted(row, most, level, rule.id()));
                }
              }
            });
    assertThat(problems).isEmpty();
  }

  @Test
  void longestSentencesOfAPageAreShort() throws IOException {
    List<String> problems = new ArrayList<>();
    for (Path page : pages()) {
      int words = PlainWords.longSentences(Files.readString(page));
      if (words > MAX_SENTENCE_WORDS) {
        problems.add(
            "%s: %s words (expected: at most %s in the median of the ten longest sentences)"
                .formatted(page, words, MAX_SENTENCE_WORDS));
      }
    }
    assertThat(problems).isEmpty();
    String longer = "word ".repeat(31).strip() + ". ";
    assertThat(PlainWords.longSentences(longer.repeat(10))).isEqualTo(31);
  }

  @Test
  void aSimpleNameHasOneMeaning() throws IOException {
    PlainWords words = PlainWords.ofSources(List.of(MAIN));
    List<String> doubles =
        words.types().entrySet().stream()
            .filter(type -> type.getValue().size() > 1)
            .map(type -> type.getKey() + " in " + type.getValue())
            .toList();
    assertThat(doubles)
        .as("types of one simple name (expected: at most %s)", MAX_DOUBLE_NAMES)
        .hasSizeLessThanOrEqualTo(MAX_DOUBLE_NAMES);
  }

  /**
   * I4: names of tests are claims in glossary terms; those of older tests may only become fewer.
   */
  @Test
  void namesOfTestsUseTheGlossary() throws IOException {
    Pattern old =
        Pattern.compile(
            "(?:^|[a-z0-9])(?i:Who|What|Nobody|Whoever|Told|Said|Heard|Gone|Anew|Kept)(?=[A-Z]|$)");
    List<String> found =
        PlainWords.methods(Path.of("src/test/java")).stream()
            .filter(name -> old.matcher(name).find())
            .toList();
    int most = budgets().of("words", "src/test/I4", 0);
    assertThat(found)
        .as("name the subject and its behaviour, as in expiredReservationFreesItsSlot")
        .hasSize(most);
    assertThat("whatIsGone").containsPattern(old);
    assertThat("expiredReservationFreesItsSlot").doesNotContainPattern(old);
  }

  @Test
  void fewTypesHaveOneWord() throws IOException {
    PlainWords words = PlainWords.ofSources(List.of(MAIN));
    List<String> oneWord =
        words.types().keySet().stream().filter(name -> name.matches("[A-Z][a-z0-9]*")).toList();
    assertThat(oneWord).isSubsetOf(WELL_KNOWN);
    assertThat(100 * oneWord.size()).isLessThan(15 * words.types().size());
  }

  /** Violation of each rule; nothing else in it breaks a rule. */
  static Stream<Arguments> planted() {
    return Stream.of(
        planted("D1", "/** How a replica serves. */ class PlantedType {}"),
        planted("D2", "/** It serves. */ class PlantedType {}"),
        planted("D3", "/** Of a replica. */ class PlantedType {}"),
        planted("D4", "/** Whether a replica serves. */ class PlantedType {}"),
        planted("T1", "/** Removes the caller who waits. */ class PlantedType {}"),
        planted("T2", "/** Returns the slot. What remains is free. */ class PlantedType {}"),
        planted("T3", "/** The router is asked for a slot. */ class PlantedType {}"),
        planted("T4", "// the replica tells the router\nclass PlantedType {}"),
        planted("T5", "/* the router by which the call came */ class PlantedType {}"),
        planted("T6", "/** The replica is gone. */ class PlantedType {}"),
        planted("T7", "/** Starts the replica anew. */ class PlantedType {}"),
        planted("T8", "/** The number of calls under way. */ class PlantedType {}"),
        planted("T9", "/** Serves all but for one. */ class PlantedType {}"),
        planted("L1", "class PlantedType { String s = \"nobody knows this replica\"; }"),
        planted("I1", "class Planted {}"),
        planted("I2", "class PlantedType {\n  void told() {}\n}"),
        planted("I3", "class PlantedType { int MOST_NODES = 3; }"),
        planted("M1", "Whoever calls the router waits."),
        planted("M2", "The caller who waits."),
        planted("M3", "Returns what the router has."),
        planted("M4", "The router tells the replica."),
        planted("M5", "The replica is gone."),
        planted("M6", "The slot for which a call waits."));
  }

  private static Arguments planted(String rule, String text) {
    return Arguments.of(rule, text);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("planted")
  void aPlantedViolationFails(String rule, String text) throws IOException {
    boolean isPage = rule.startsWith("M");
    Path file = dir.resolve(isPage ? "page.md" : "Planted.java");
    Files.writeString(file, isPage ? text : "package planted;\n" + text + "\n");
    PlainWords words =
        isPage ? PlainWords.ofPages(List.of(file)) : PlainWords.ofSources(List.of(dir));
    assertThat(overBudget(words, Budgets.of(List.of(), dir)))
        .singleElement()
        .asString()
        .contains("/" + rule + ": 1 places (expected: at most 0");
  }

  @Test
  void eachRuleIsPlanted() {
    Set<String> planted = Set.copyOf(planted().map(each -> (String) each.get()[0]).toList());
    assertThat(PlainWords.RULES).extracting(Rule::id).containsExactlyInAnyOrderElementsOf(planted);
  }

  private static Rule rule(String id) {
    return PlainWords.RULES.stream().filter(rule -> rule.id().equals(id)).findFirst().orElseThrow();
  }
}
