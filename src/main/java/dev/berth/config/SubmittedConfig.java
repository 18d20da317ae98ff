package dev.berth.config;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads what is submitted to a running instance: its applications and its target capacity. The rest
 * holds since the start and is warned of when it differs, as Ray Serve does. Relative paths start
 * from a folder of the caller's. May block on the disk.
 */
public final class SubmittedConfig {
  private static final String RESTART = "the same, or a restart with another file";

  private SubmittedConfig() {}

  /**
   * Reads a whole configuration.
   *
   * @param name of the text, for its problems
   * @param running what the instance was started with
   * @return that with the applications and the capacity of {@code text}, and warnings of it alone
   * @throws ConfigException with every problem
   */
  public static ServeConfig read(String name, Path folder, String text, ServeConfig running) {
    requireSize(name, text);
    Place top = Place.top(name, folder);
    Node root = ConfigReader.compose(name, text).orElseThrow(() -> empty(name));
    Values values = ServeConfig.SECTION.read(root, top);
    if (values != null && !values.gives(ServeConfig.APPLICATIONS)) {
      values.problem(ServeConfig.APPLICATIONS, "missing", "a list of mappings");
    }
    if (values == null || top.isWrong()) {
      throw new ConfigException(top.problems());
    }
    warnOfDifferences(values, running);
    List<ApplicationConfig> applications =
        values.get(ServeConfig.APPLICATIONS).stream()
            .map(application -> ApplicationConfig.from(application, running.logging()))
            .toList();
    requireReservations(applications, running, top);
    return running.withApplications(
        applications, values.find(ServeConfig.TARGET_CAPACITY), top.problems());
  }

  /**
   * Reads one entry of {@code applications}.
   *
   * @param application its name; the entry may leave it out, and may not say another
   * @return {@code running} with that application alone, and warnings of it alone
   * @throws ConfigException with every problem
   */
  public static ServeConfig readOne(
      String name, Path folder, String text, String application, ServeConfig running) {
    requireSize(name, text);
    Place top = Place.top(name, folder);
    Node root =
        ConfigReader.compose(name, text)
            .map(node -> named(node, application))
            .orElseThrow(() -> empty(name));
    Values values = ApplicationConfig.SECTION.read(root, top);
    String given = values == null ? null : values.find(ApplicationConfig.NAME);
    if (values != null && given != null && !given.equals(application)) {
      values.problem(
          ApplicationConfig.NAME, '"' + Scalars.shorten(given) + '"', application + ", or nothing");
    }
    if (values == null || top.isWrong()) {
      throw new ConfigException(top.problems());
    }
    List<ApplicationConfig> one = List.of(ApplicationConfig.from(values, running.logging()));
    requireReservations(one, running, top);
    return running.withApplications(one, running.targetCapacity(), top.problems());
  }

  private static void requireSize(String name, String text) {
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > ConfigReader.MOST_BYTES) {
      throw whole(name, bytes + " bytes", "at most " + ConfigReader.MOST_BYTES + " bytes");
    }
  }

  private static ConfigException empty(String name) {
    return whole(name, "empty", "a YAML or JSON document");
  }

  private static ConfigException whole(String name, String value, String expected) {
    return new ConfigException(List.of(new Problem(name, 0, 0, "", value, expected)));
  }

  /** An entry with its name in it; anything else is told to be wrong by the one who reads it. */
  private static Node named(Node node, String application) {
    if (!(node instanceof MappingNode mapping)
        || mapping.getValue().stream()
            .anyMatch(entry -> "name".equals(Scalars.string(entry.getKeyNode())))) {
      return node;
    }
    Optional<Mark> mark = node.getStartMark();
    List<NodeTuple> entries = new ArrayList<>();
    entries.add(new NodeTuple(text("name", mark), text(application, mark)));
    entries.addAll(mapping.getValue());
    return new MappingNode(mapping.getTag(), true, entries, FlowStyle.AUTO, mark, Optional.empty());
  }

  private static ScalarNode text(String text, Optional<Mark> mark) {
    return new ScalarNode(Tag.STR, true, text, ScalarStyle.PLAIN, mark, Optional.empty());
  }

  // --- what holds since the start ---

  private static void warnOfDifferences(Values values, ServeConfig running) {
    Values http = values.get(ServeConfig.HTTP_OPTIONS);
    HttpOptions now = running.httpOptions();
    warnIf(http, HttpOptions.HOST, now.host());
    warnIf(http, HttpOptions.PORT, now.port());
    warnIf(http, HttpOptions.ROOT_PATH, now.rootPath());
    warnIf(http, HttpOptions.REQUEST_TIMEOUT_S, now.requestTimeout());
    warnIf(http, HttpOptions.KEEP_ALIVE_TIMEOUT_S, now.keepAliveTimeout());
    TlsFiles tls = now.tls();
    warnIf(http, HttpOptions.SSL_KEYFILE, tls == null ? null : tls.key());
    warnIf(http, HttpOptions.SSL_CERTFILE, tls == null ? null : tls.certificate());
    warnIf(http, HttpOptions.SSL_CA_CERTS, tls == null ? null : tls.clientAuthorities());
    Values logging = values.find(ServeConfig.LOGGING_CONFIG);
    if (logging != null && !LoggingOptions.from(logging).equals(running.logging())) {
      warn(values, ServeConfig.LOGGING_CONFIG);
    }
    if (values.gives(ServeConfig.BERTH)
        && !InstanceOptions.from(values.get(ServeConfig.BERTH)).equals(running.berth())) {
      warn(values, ServeConfig.BERTH);
    }
  }

  private static <T> void warnIf(Values given, Key<T> key, @Nullable T now) {
    if (given.gives(key) && !Objects.equals(given.find(key), now)) {
      warn(given, key);
    }
  }

  private static void warn(Values values, Key<?> key) {
    values.warn(key, "has no effect: it holds since the start of the instance", RESTART);
  }

  private static void requireReservations(
      List<ApplicationConfig> applications, ServeConfig running, Place top) {
    Duration longest = running.berth().limits().maxReservationTtl();
    for (ApplicationConfig application : applications) {
      int index = 0;
      for (DeploymentConfig deployment : application.deployments()) {
        Duration asked = deployment.reservationTtl();
        if (asked != null && asked.compareTo(longest) > 0) {
          top.add(
              application
                  .source()
                  .problem(
                      "deployments[" + index + "].berth.reservation_ttl_s",
                      DeploymentConfig.RESERVATION_TTL_S.type().write(asked),
                      DeploymentConfig.reservationTtlBound(longest)));
        }
        index++;
      }
    }
    if (top.isWrong()) {
      throw new ConfigException(top.problems());
    }
  }
}
