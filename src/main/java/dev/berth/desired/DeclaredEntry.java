package dev.berth.desired;

import dev.berth.code.Fingerprint;
import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Converts configuration entries to the desired state; {@link EntryReader} converts back. May
 * block.
 */
public final class DeclaredEntry {

  /** Identifies jars, and may store copies of them. */
  @FunctionalInterface
  interface JarIdentifier {
    List<Jar> of(List<Path> files) throws IOException;
  }

  private DeclaredEntry() {}

  /** Returns the desired configuration of each entry, by application. */
  static Map<String, ApplicationSpec> toSpecs(
      List<ApplicationConfig> applications, JarIdentifier jars) throws IOException {
    Map<String, ApplicationSpec> wanted = new LinkedHashMap<>();
    for (ApplicationConfig application : applications) {
      wanted.put(application.name(), toSpec(application, jars.of(application.jars())));
    }
    return wanted;
  }

  static ApplicationSpec toSpec(ApplicationConfig application, List<Jar> jars) {
    String config = new JsonObject(application.portable()).encode();
    boolean external = application.get(ApplicationConfig.EXTERNAL_SCALER_ENABLED);
    return new ApplicationSpec(
        application.routePrefix(), config, jars, external, digest(config, jars));
  }

  /**
   * Parses a persisted entry.
   *
   * @param entry a JSON object
   * @param jars copies of its jars, which replace the named ones
   * @param around configuration that contains the entry
   * @throws ConfigException when it is not valid any longer
   */
  public static ApplicationConfig read(
      String application, String entry, List<Path> jars, ServeConfig around) {
    JsonObject json = new JsonObject(entry);
    if (json.getValue("runtime_env") instanceof JsonObject environment) {
      environment.put("jars", new JsonArray(jars.stream().map(Path::toString).toList()));
    }
    return SubmittedConfig.read(
            "application " + application,
            Path.of("."),
            json.encode(),
            application,
            around,
            sha256 -> null)
        .applications()
        .get(0)
        .placeless();
  }

  /** Returns the same entry with other weights in {@code berth.traffic}, by deployment. */
  static ApplicationSpec withTraffic(ApplicationSpec wanted, Map<String, Double> weights) {
    JsonObject entry = new JsonObject(wanted.config());
    JsonObject berth = entry.getJsonObject("berth", new JsonObject());
    JsonArray traffic = new JsonArray();
    new TreeMap<>(weights) // the order has no meaning
        .forEach(
            (deployment, weight) ->
                traffic.add(new JsonObject().put("deployment", deployment).put("weight", weight)));
    String config = entry.put("berth", berth.put("traffic", traffic)).encode();
    List<Jar> jars = wanted.jars();
    return new ApplicationSpec(
        wanted.routePrefix(), config, jars, wanted.externalScaler(), digest(config, jars));
  }

  /**
   * Returns a digest that is equal for equal entries of one application whose jars have equal
   * content, at any path.
   *
   * @param config an entry, a JSON object
   */
  private static String digest(String config, List<Jar> jars) {
    Map<String, Object> entry = new JsonObject(config).getMap();
    entry.remove("name"); // optional in an entry
    if (entry.get("runtime_env") instanceof Map<?, ?> environment) {
      environment.remove("jars");
      if (environment.isEmpty()) {
        entry.remove("runtime_env");
      }
    }
    List<@Nullable Object> all = new ArrayList<>();
    all.add(sorted(entry));
    jars.forEach(jar -> all.add(jar.digest()));
    return digest(Json.encode(all));
  }

  static String digest(String text) {
    MessageDigest sha256 = Fingerprint.sha256();
    return HexFormat.of().formatHex(sha256.digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** Sorts the keys of all objects, whose order has no meaning. */
  private static @Nullable Object sorted(@Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      Map<String, @Nullable Object> sorted = new TreeMap<>();
      map.forEach((key, each) -> sorted.put(String.valueOf(key), sorted(each)));
      return sorted;
    }
    return value instanceof List<?> list
        ? list.stream().map(DeclaredEntry::sorted).toList()
        : value;
  }
}
