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
 * Converter of jar paths in a configuration to content digests, for receivers without access to the
 * paths. Not thread-safe.
 */
public final class ContentAddressedJars {
  private final Map<String, String> digests = new HashMap<>(); // by path

  /**
   * Reads a jar. Blocks.
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

  /**
   * Replaces the paths of the jars that were read by their digests, in a configuration or in an
   * entry of its applications. Modifies and returns {@code declared}.
   */
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
