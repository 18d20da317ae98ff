package dev.berth.config;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Problems;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** 4 MB of anything cost no more than twice what as much that is real costs; few lines tell it. */
class HugeConfigTest {
  private static final int BYTES = BoundedParser.MAX_BYTES;

  private static final int MOST_TIMES_REAL = 2; // 0.5 as this is written

  private static final int TRIES = 3; // what is measured beside other work is measured again
  private static final long MOST_ALLOCATED = 600L << 20;
  private static final int MOST_TOLD_CHARS = 200_000;

  private static final Path HERE = Path.of("").toAbsolutePath();
  private static final String DEPLOYMENT =
      """
      {"name": "d%s", "num_replicas": 2, "max_ongoing_requests": 20, "max_queued_requests": 100,
       "graceful_shutdown_timeout_s": 10, "health_check_period_s": 5, "health_check_timeout_s": 20,
       "user_config": {"model": "small", "threshold": 0.5},
       "berth": {"queue_timeout_s": 5, "reservation_ttl_s": 3}}""";
  private static final ServeConfig RUNNING = Yaml.read("applications: []");
  private static final com.sun.management.ThreadMXBean THREADS =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final String REAL = realApplications(200);

  /** The least of a few: the first of them are slow since their code is new. */
  private static final long REAL_NANOS =
      LongStream.range(0, 5).map(none -> cpuNanos(REAL)).min().orElseThrow();

  @TestFactory
  Stream<DynamicTest> whateverItIsItCostsLittleMoreThanWhatIsReal() {
    return texts().entrySet().stream()
        .map(each -> DynamicTest.dynamicTest(each.getKey(), () -> read(each.getValue().get())));
  }

  private static void read(String text) {
    assertThat(text.length()).isLessThanOrEqualTo(BYTES);
    double timesReal = timesReal(text, REAL_NANOS);
    for (int i = 1; i < TRIES && timesReal >= MOST_TIMES_REAL; i++) {
      timesReal = Math.min(timesReal, timesReal(text, cpuNanos(REAL)));
    }
    assertThat(timesReal).as("CPU, times that of real applications").isLessThan(MOST_TIMES_REAL);
  }

  private static double timesReal(String text, double realNanos) {
    return cpuNanos(text) / (realNanos * (BYTES / REAL.length()));
  }

  private static long cpuNanos(String text) {
    long bytes = THREADS.getCurrentThreadAllocatedBytes();
    long cpu = THREADS.getCurrentThreadCpuTime();
    List<ConfigProblem> told;
    try {
      told = SubmittedConfig.read("PUT", HERE, text, null, RUNNING, jar -> null).warnings();
    } catch (ConfigException refused) {
      told = refused.problems();
    }
    cpu = THREADS.getCurrentThreadCpuTime() - cpu;
    bytes = THREADS.getCurrentThreadAllocatedBytes() - bytes;
    assertThat(told.toString().length()).isLessThan(MOST_TOLD_CHARS);
    assertThat(told.size()).isLessThanOrEqualTo(2 * Problems.MAX_REPORTED + 2);
    assertThat(bytes).as("bytes allocated").isLessThan(MOST_ALLOCATED);
    return cpu;
  }

  private static Map<String, Supplier<String>> texts() {
    Map<String, Supplier<String>> texts = new LinkedHashMap<>(); // made one at a time
    texts.put("applications that are empty", () -> "{\"applications\":" + list("{}") + "}");
    texts.put("a third of that", () -> "{\"applications\":[{}" + ",{}".repeat(66_000) + "]}");
    texts.put("numbers", () -> "{\"applications\":" + list("1") + "}");
    texts.put(
        "unknown keys, as many as may be",
        () -> mapping(i -> "\"unknown_key_" + i + "\":1", 3 << 19));
    texts.put(
        "long unknown keys", () -> mapping(i -> "\"" + i + "m".repeat(4000) + "\":1", 4 << 20));
    texts.put("one long key", () -> "{\"" + "m".repeat(BYTES - 10) + "\":1}");
    texts.put(
        "one key twice",
        () -> "{\"applications\":[]" + ",\"applications\":[]".repeat(120_000) + "}");
    texts.put(
        "unknown keys of a deployment",
        () ->
            application(
                "\"deployments\":[" + mapping(i -> "\"num_replica_" + i + "\":1", 2 << 20) + "]"));
    texts.put(
        "small applications",
        () ->
            applications(
                i ->
                    "{\"name\":\"a%d\",\"route_prefix\":\"/%d\",\"import_path\":\"a.B\"}"
                        .formatted(i, i),
                28_000));
    texts.put("the same application", () -> applications(i -> "{\"import_path\":\"a.B\"}", 66_000));
    texts.put(
        "ineffective keys",
        () ->
            applications(
                i ->
                    """
                    {"name":"a%d","route_prefix":null,"import_path":"a.B",\
                    "deployments":[{"name":"d","ray_actor_options":{"num_cpus":1}}]}"""
                        .formatted(i),
                13_000));
    texts.put(
        "deployments",
        () ->
            application(
                "\"deployments\":[{\"name\":\"d\"}" + ",{\"name\":\"d\"}".repeat(66_000) + "]"));
    texts.put(
        "jars that are not there",
        () -> application(jars(list("\"x.jar\"").substring(0, 1_000_000) + "\"]")));
    texts.put(
        "a folder of files again and again",
        () -> application(jars("[\"/usr/bin\"" + ",\"/usr/bin\"".repeat(200_000) + "]")));
    texts.put(
        "args", () -> application("\"args\":{\"x\":" + list("1").substring(0, 466_000) + "1]}"));
    texts.put(
        "args with long values",
        () ->
            application(
                "\"args\":" + mapping(i -> "\"" + i + "\":\"" + "x".repeat(100) + "\"", 3 << 20)));
    texts.put("nested", () -> "[".repeat(BYTES));
    texts.put("nested mappings", () -> "{a: ".repeat(BYTES / 4));
    texts.put("nested block lists", () -> "- ".repeat(BYTES / 2));
    texts.put("nested keys", () -> "? ".repeat(BYTES / 2));
    texts.put(
        "nested args",
        () -> application("\"args\":" + "{\"a\":".repeat(80) + "1" + "}".repeat(80)));
    texts.put("laughs", () -> laughs(9, 9));
    texts.put("laughs by twos", () -> laughs(90, 2));
    texts.put(
        "aliases of one long text",
        () ->
            "applications:\n- import_path: a.B\n  args:\n    a: &a "
                + "x".repeat(1_000_000)
                + "\n    b: ["
                + "*a,".repeat(100_000)
                + "*a]\n");
    texts.put(
        "aliases of one application",
        () -> "applications:\n- &a {import_path: a.B}\n" + "- *a\n".repeat(800_000));
    texts.put(
        "aliases of aliases",
        () ->
            "a0: &a0 x\n"
                + numbered(i -> "a" + (i + 1) + ": &a" + (i + 1) + " [*a" + i + "]\n", 4 << 20));
    texts.put("an alias of itself", () -> "applications: &a [*a]");
    texts.put("anchors", () -> "applications:\n" + numbered(i -> "- &a" + i + " {}\n", 4 << 20));
    texts.put("blanks", () -> " ".repeat(BYTES - 2) + "{}");
    texts.put("lines", () -> "{}" + "\n".repeat(BYTES - 2));
    texts.put("tabs", () -> "{}" + "\t".repeat(BYTES - 2));
    texts.put("comments", () -> "#\n".repeat(BYTES / 2));
    texts.put("one comment", () -> "#".repeat(BYTES));
    texts.put("letters", () -> "x".repeat(BYTES));
    texts.put("words", () -> "x ".repeat(BYTES / 2));
    texts.put("words on lines", () -> "x\n".repeat(BYTES / 2));
    texts.put("digits", () -> "1".repeat(BYTES));
    texts.put("a long fraction", () -> "1." + "1".repeat(BYTES - 2));
    texts.put("a long exponent", () -> "applications: []\ntarget_capacity: 1e" + "1".repeat(300));
    texts.put(
        "a huge exponent",
        () ->
            "applications: []\ntarget_capacity: 1e999999999\nhttp_options: {request_timeout_s: 1e-999999999}");
    texts.put("quotes", () -> "'".repeat(BYTES));
    texts.put("double quotes", () -> "\"".repeat(BYTES));
    texts.put("escapes", () -> "\"" + "\\u0041".repeat(BYTES / 6 - 1) + "\"");
    texts.put("line breaks in quotes", () -> "\"" + "x\n".repeat(BYTES / 2 - 1) + "\"");
    texts.put("a block", () -> "applications: |\n" + "  x\n".repeat(BYTES / 4 - 10));
    texts.put("a folded block", () -> "applications: >\n" + "  x\n".repeat(BYTES / 4 - 10));
    texts.put("a growing block", () -> "applications: |\n" + growing());
    texts.put("colons", () -> ":".repeat(BYTES));
    texts.put("keys without values", () -> "a:\n".repeat(BYTES / 3));
    texts.put("commas", () -> "[" + ",".repeat(BYTES - 2) + "]");
    texts.put("question marks", () -> "?\n".repeat(BYTES / 2));
    texts.put("dashes", () -> "-\n".repeat(BYTES / 2));
    texts.put("documents", () -> "---\n".repeat(BYTES / 4));
    texts.put("ends", () -> "...\n".repeat(BYTES / 4));
    texts.put("directives", () -> "%A b\n".repeat(BYTES / 5));
    texts.put("tag directives", () -> numbered(i -> "%TAG !" + i + "! x\n", 4 << 20));
    texts.put("one tag", () -> "!" + "x".repeat(BYTES - 3) + " a");
    texts.put("tags", () -> "[" + "!x a,".repeat(BYTES / 5 - 1) + "]");
    texts.put("an escaped tag", () -> "!<" + "%41".repeat(BYTES / 3 - 3) + "> a");
    texts.put("one anchor", () -> "&" + "x".repeat(BYTES - 3) + " a");
    texts.put("one alias", () -> "*" + "x".repeat(BYTES - 3));
    texts.put("wide letters", () -> "\u4e2d".repeat(BYTES / 3));
    texts.put("zeros", () -> "\0".repeat(BYTES));
    texts.put("brackets", () -> "[]".repeat(BYTES / 2));
    texts.put(
        "a long import path",
        () -> "applications: [{import_path: '" + "a.".repeat(BYTES / 2 - 20) + "a'}]");
    texts.put(
        "a long route",
        () ->
            "applications: [{import_path: a.B, route_prefix: '"
                + "/a".repeat(BYTES / 2 - 30)
                + "'}]");
    texts.put(
        "a long name",
        () -> "applications: [{import_path: a.B, name: '" + "a".repeat(BYTES - 60) + "'}]");
    texts.put(
        "a long jar",
        () ->
            "applications: [{import_path: a.B, runtime_env: {jars: ['"
                + "a/".repeat(BYTES / 2 - 50)
                + "']}}]");
    texts.put(
        "a long file",
        () ->
            "applications: []\nhttp_options: {ssl_keyfile: '"
                + "../".repeat(BYTES / 3 - 50)
                + "'}");
    texts.put(
        "a long level",
        () -> "applications: []\nlogging_config: {log_level: '" + "A".repeat(BYTES - 80) + "'}");
    texts.put(
        "a long root path",
        () -> "applications: []\nhttp_options: {root_path: '" + "/a".repeat(BYTES / 2 - 50) + "'}");
    texts.put(
        "a long prefix",
        () ->
            "applications: []\nberth: {metrics: {prefix: '" + "a_".repeat(BYTES / 2 - 50) + "'}}");
    return texts;
  }

  private static String list(String item) {
    return "[" + (item + ",").repeat((BYTES - 40) / (item.length() + 1)) + item + "]";
  }

  private static String application(String rest) {
    return "{\"applications\":[{\"import_path\":\"a.B\"," + rest + "}]}";
  }

  private static String jars(String list) {
    return "\"runtime_env\":{\"jars\":" + list + "}";
  }

  private static String applications(IntFunction<String> application, int count) {
    return IntStream.range(0, count)
        .mapToObj(application)
        .collect(joining(",", "{\"applications\":[", "]}"));
  }

  private static String realApplications(int count) {
    return applications(
        i ->
            """
                {"name": "shop-%d", "route_prefix": "/shop/%d", "import_path": "com.acme.Shop:build",
                 "args": {"currency": "EUR", "warehouses": ["north", "south"], "limit": 100},
                 "logging_config": {"log_level": "WARN", "enable_access_log": true},
                 "external_scaler_enabled": true,
                 "deployments": [%s]}"""
                .formatted(i, i, "%s,%s,%s,%s".replace("%s", DEPLOYMENT).formatted(1, 2, 3, 4)),
        count);
  }

  private static String mapping(IntFunction<String> entry, int bytes) {
    StringBuilder text = new StringBuilder("{");
    for (int i = 0; text.length() < bytes - 5000; i++) {
      text.append(i == 0 ? "" : ",").append(entry.apply(i));
    }
    return text.append('}').toString();
  }

  private static String numbered(IntFunction<String> line, int bytes) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; text.length() < bytes - 100; i++) {
      text.append(line.apply(i));
    }
    return text.toString();
  }

  /** Lists of lists, each of so many aliases of the one before. */
  private static String laughs(int levels, int each) {
    StringBuilder text =
        new StringBuilder("applications:\n- import_path: a.B\n  args:\n    l0: &l0 x\n");
    for (int level = 1; level <= levels; level++) {
      String aliases = String.join(",", Collections.nCopies(each, "*l" + (level - 1)));
      text.append("    l" + level + ": &l" + level + " [" + aliases + "]\n");
    }
    return text.toString();
  }

  private static String growing() {
    StringBuilder text = new StringBuilder();
    for (int indent = 1; text.length() < BYTES - 8000; indent++) {
      text.append(" ".repeat(indent)).append("\n");
    }
    return text.append("x").toString();
  }

  @Test
  void aThousandRealApplicationsAreRead() {
    ServeConfig config =
        SubmittedConfig.read("PUT", HERE, realApplications(1000), null, RUNNING, jar -> null);

    assertThat(config.applications()).hasSize(1000);
    assertThat(config.applications().get(999).deployments()).hasSize(4);
    assertThat(config.warnings()).isEmpty();
  }

  @Test
  void anAliasMayBeUsedByAThousand() {
    String text =
        "applications:\n- {import_path: a.B, name: a, route_prefix: /a, args: &args {x: [1]}}\n"
            + numbered(
                i ->
                    "- {import_path: a.B, name: n%d, route_prefix: /%d, args: *args}\n"
                        .formatted(i, i),
                64 << 10);

    assertThat(SubmittedConfig.read("PUT", HERE, text, null, RUNNING, jar -> null).applications())
        .hasSizeGreaterThan(900)
        .allSatisfy(
            each -> assertThat(each.get(ApplicationConfig.ARGS)).containsEntry("x", List.of(1)));
  }

  @Test
  void theFirstHundredProblemsAreToldAndTheOthersCounted() {
    List<String> problems = Yaml.problems(applications(i -> "{}", 300));

    assertThat(problems).hasSize(Problems.MAX_REPORTED + 1);
    assertThat(problems.get(0)).startsWith("berth.yaml:1:18: applications[0].import_path: missing");
    // each has no import path, and all but the first have the name and the route of the first
    assertThat(problems).last().isEqualTo("berth.yaml: and 798 more (expected: none)");
  }

  @Test
  void warningsDoNotCrowdOutTheErrorBehindThem() {
    String warned =
        "{\"name\":\"%d\",\"route_prefix\":null,\"import_path\":\"a.B\",\"deployments\":"
            + "[{\"name\":\"d\",\"ray_actor_options\":{\"num_cpus\":1}}]}";
    List<String> problems =
        Yaml.problems(applications(i -> i < 150 ? warned.formatted(i) : "{\"name\":1}", 151));

    assertThat(problems).filteredOn(each -> each.contains("applications[150].name")).hasSize(1);
    assertThat(problems).last().isEqualTo("berth.yaml: warning: and 50 more (expected: none)");
  }

  @Test
  void whatIsTooMuchIsToldWithItsPlace() {
    assertThat(Yaml.problems("applications:\n" + "- {}\n".repeat(250_000)))
        .containsExactly(
            "berth.yaml:199999:3: more keys and values than allowed"
                + " (expected: at most 200000 keys and values)");
  }
}
