package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.Validator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The schema and the reading are made from the same keys; here they must say the same. */
class SchemaTest {

  private static final Validator SCHEMA =
      Validator.create(
          JsonSchema.of(new JsonObject(new JsonObject(ServeConfig.schema()).encode())), // as text
          new JsonSchemaOptions()
              .setBaseUri("https://berth.invalid/")
              .setDraft(Draft.DRAFT202012)
              .setOutputFormat(OutputFormat.Flag));

  /** Each is tried behind each key: most keys find good ones and bad ones among them. */
  private static final List<?> VALUES =
      (List<?>)
          Yaml.plain(
              """
              [null, true, false, -2, -1, 0, 1, 2, 10, 50, 99, 100, 101, 256, 503, 504, 1024, 65535,
               65536, 70000, 1048576, 31536000, 31536001, 2147483647, 2147483648, 9007199254740992,
               9007199254740994, -0.5, 1.0e-10, 0.5, 1.5, 100.5, "", " ", x, x y, "a#b", "a\\nb", "5",
               "true", name, addresses, INFO, info, WARNING, TEXT, JSON, json, single, virtual, event_loops, auto, mean, PACK,
               changed, direct, pack, EveryNode, Disabled, /, /a, /a/, //, /a/b, "/{x}", "/a?b",
               "/a#b", a.B, "http://h:1", worker, ["localhost:1"], "a.B:m", "a.B:", a..B, 1a, a-b, 127.0.0.1,
               "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter",
               [], [x], [1], [{}], [{a: b}], [{a: 1}], {}, {a: b}, {a: 1}]
              """);

  /** What no schema of one value can tell: another key's value, or a file. */
  private static final Pattern BEYOND =
      Pattern.compile(
          "set without TLS|set, on a worker|from other machines|(tls|join): missing|without a token|an argument of |application: missing|at most max_ongoing_requests|url with a host name|without client authentication|its value is not shown|\\(expected: .*(token_file|twice (interval_ms|detection)"
              + "|stream_bytes_total|record_interval_ms|since (ssl_|cert_|key_)|deployments of the application|other deployments of|upstreams, as|max_reservation_ttl_s"
              + "|max_replicas_per_node|min_replicas|max_replicas,|look_back_period_s,|readable file"
              + "|one of header, (cookie|body_bytes_per_slot)|one of exact, prefix|one above 0|leave it out; over|a fallback too"
              + "|limits.trusted_proxies too|one of berth.router|\\.jar)");

  @Test
  void everyKeyTakesTheSameValuesInTheSchemaAndInTheFile() {
    List<Reference.Row> rows = new ArrayList<>();
    Reference.collect(ServeConfig.SECTION, "", rows);
    List<String> differences = new ArrayList<>();
    Map<String, Integer> verdicts = new TreeMap<>();
    for (Reference.Row row : rows) {
      String path = (row.path().isEmpty() ? "" : row.path() + ".") + row.key().name();
      for (Object value : VALUES) {
        JsonObject document = with(path, value);
        List<String> problems = problems(document);
        if (problems.stream().anyMatch(problem -> BEYOND.matcher(problem).find())) {
          continue;
        }
        boolean fits = SCHEMA.validate(document).getValid();
        verdicts.merge(path, fits ? 1 : 2, (some, more) -> some | more);
        if (fits != problems.isEmpty()) {
          differences.add(path + ": " + value + ": schema " + fits + ", reading " + problems);
        }
      }
    }
    assertThat(rows).hasSizeGreaterThan(90);
    assertThat(differences).isEmpty();
    assertThat(verdicts)
        .as("keys that met a good value and a bad one")
        .allSatisfy(
            (path, met) -> {
              if (!path.matches(
                  ".*(\\.(py_\\w+|pip|uv|conda|excludes|config)|berth\\..+\\[]\\.application|ssl_\\w+|\\w+_file|jars|token|adopt|fallback_after_ms)")) {
                assertThat(met).as(path).isEqualTo(3);
              }
            });
  }

  @Test
  void whatIsRefusedIsRefusedByTheSchemaToo() {
    for (String path :
        List.of(
            "http_options.middlewares",
            "applications[].autoscaling_policy",
            "applications[].runtime_env.working_dir",
            "applications[].deployments[].autoscaling_config",
            "applications[].deployments[].max_concurrent_queries",
            "applications[].port",
            "colour")) {
      JsonObject document = with(path, 1);
      assertThat(problems(document)).as(path).hasSize(1);
      assertThat(SCHEMA.validate(document).getValid()).as(path).isFalse();
    }
    JsonObject nothing = with("applications[].deployments[].autoscaling_config", null);
    assertThat(problems(nothing)).isEmpty();
    assertThat(SCHEMA.validate(nothing).getValid()).isTrue();
  }

  @Test
  void theQuickstartFitsTheSchema() throws IOException {
    assertThat(SCHEMA.validate(json(Files.readString(Path.of("conf/quickstart.yaml")))).getValid())
        .isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "applications: {}",
        "applications: [{}]",
        "applications: [{import_path: a.B, deployments: [{}]}]",
        "applications: [{import_path: a.B, deployments: [{name: d, berth: {spread: x}}]}]",
        "{applications: [], http_options: {port: '1'}}",
        "{applications: [], berth: {limits: {max_body_bytes: 1MB}}}"
      })
  void aBadFileDoesNotFitTheSchema(String text) {
    assertThat(Yaml.problems(text)).isNotEmpty();
    assertThat(SCHEMA.validate(json(text)).getValid()).isFalse();
  }

  /** The least file that has {@code value} at {@code path}. */
  private static JsonObject with(String path, Object value) {
    JsonObject file = new JsonObject().put("applications", new JsonArray());
    JsonObject at = file;
    String[] names = path.split("\\.");
    for (int i = 0; i < names.length - 1; i++) {
      String name = names[i].replace("[]", "");
      JsonObject below = new JsonObject();
      if (name.equals("applications")) {
        boolean proxy =
            path.matches(".*(upstreams\\[]|fallback|replay_bytes|idempotent|\\.batch\\.).*");
        below.put("import_path", proxy ? "berth:proxy" : "a.B");
        if (path.contains(".berth.mcp")) {
          below.put("import_path", "berth:mcp");
        }
        if (path.endsWith("upstreams[].model")) {
          below.put("import_path", "berth:openai");
          below.put("args", json(Yaml.plain("{models: [{name: m, deployment: d}]}")));
        }
      } else if (name.equals("deployments")) {
        below.put("name", "d");
      } else if (name.equals("cors")) {
        below.put("origins", new JsonArray().add("https://a"));
      } else if (path.matches(".*cost\\.(per_slot|default)") && name.equals("cost")) {
        below.put("json_field", "f");
      } else if (name.equals("batch")) {
        at.put("upstreams", json(Yaml.plain("[{url: 'https://h', max_ongoing_requests: 65535}]")));
        below.put("path", "/").put("json_array", true);
      } else if (name.equals("endpoints")) {
        below.put("route_prefix", "/e");
      } else if (name.equals("upstreams")) {
        below.put("url", "https://h").put("max_ongoing_requests", 65535);
      } else if (name.equals("openai")) {
        at.put("secrets_dir", "s");
      } else if (name.equals("health") && path.contains("upstreams[]")) {
        below.put("path", "/");
      } else if (name.equals("cluster")) {
        below.put("name", "c").put("node", "n").put("role", "worker").put("bind", "127.0.0.1");
        below.put("join", new JsonArray().add("127.0.0.1:1")).put("insecure", true);
      } else if (List.of("traffic", "match", "shadow").contains(name)) {
        below.put("deployment", "d");
        if (path.startsWith("berth.endpoints")) {
          below.put("application", "a");
        }
        if (name.equals("traffic")) {
          below.put("weight", 1);
        } else if (name.equals("match") && !path.matches(".*\\.(cookie|query|method)")) {
          below.put("header", "h");
        }
      }
      if (path.matches(".*\\.(fallback\\w*|replay_bytes|idempotent)") && name.equals("berth")) {
        below.put(
            "upstreams", json(Yaml.plain("[{url: 'http://h', max_ongoing_requests: 65535}]")));
      }
      at.put(name, names[i].endsWith("[]") ? new JsonArray().add(below) : below);
      at = below;
    }
    at.put(names[names.length - 1], json(value));
    return file;
  }

  private static Object json(Object value) {
    if (value instanceof List<?> list) {
      JsonArray array = new JsonArray();
      list.forEach(item -> array.add(json(item)));
      return array;
    }
    if (value instanceof Map<?, ?> map) {
      JsonObject object = new JsonObject();
      map.forEach((name, each) -> object.put((String) name, json(each)));
      return object;
    }
    return value;
  }

  private static JsonObject json(String yaml) {
    return (JsonObject) json(Yaml.plain(yaml));
  }

  private static List<String> problems(JsonObject file) {
    return Yaml.problems(file.encode()).stream()
        .filter(problem -> !problem.contains(" warning: "))
        .toList();
  }
}
