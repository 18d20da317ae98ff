package dev.berth.code;

import dev.berth.config.keys.Types;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Jars that go by their content in what is deployed, for who does not have them at their paths. One
 * thread at a time.
 */
public final class JarsByContent {
  private final Map<String, String> digests = new HashMap<>(); // by path

  /**
   * Reads one. Blocks.
   *
   * @return its SHA-256 in hexadecimal digits; null when it was read before
   */
  public @Nullable String add(Path jar) throws IOException {
    if (digests.containsKey(jar.toString())) {
      return null;
    }
    String digits = JarDigests.read(jar, OutputStream.nullOutputStream());
    digests.put(jar.toString(), digits);
    return digits;
  }

  /** A configuration, or an entry of its applications, that names what was read by its content. */
  public JsonObject inPlaceOfPaths(JsonObject declared) {
    if (declared.getValue("applications") instanceof JsonArray applications) {
      applications.stream().map(JsonObject.class::cast).forEach(this::inPlaceOfPaths);
    }
    if (declared.getValue("runtime_env") instanceof JsonObject environment
        && environment.getValue("jars") instanceof JsonArray jars) {
      environment.put("jars", new JsonArray(jars.stream().map(this::named).toList()));
    }
    return declared;
  }

  private Object named(Object jar) {
    String digest = digests.get(String.valueOf(jar));
    return digest == null ? jar : Types.JAR_BY_CONTENT + digest;
  }
}
