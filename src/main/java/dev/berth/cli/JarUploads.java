package dev.berth.cli;

import dev.berth.cli.CliCommand.Ended;
import dev.berth.code.Fingerprint;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

/** Jars that were sent to a server, which then go by their content in what is deployed. */
final class JarUploads {
  private static final int CREATED = 201;

  private final Map<String, String> digests = new HashMap<>(); // by path

  /**
   * Sends one, unless the server has it.
   *
   * @return whether it was sent
   * @throws Ended when the server does not keep it, or it cannot be read
   */
  boolean send(Path jar, AdminServer server) throws InterruptedException {
    if (digests.containsKey(jar.toString())) {
      return false;
    }
    String digest;
    try {
      digest = digest(jar);
    } catch (IOException unreadable) {
      server.say(jar + ": " + unreadable.getMessage() + " (expected: a readable file)");
      throw new Ended(1);
    }
    digests.put(jar.toString(), digest);
    String path = "/api/v1/jars/" + digest;
    if (server.send("HEAD", path, null).statusCode() == 200) {
      return false;
    }
    String name = AdminServer.encoded(String.valueOf(jar.getFileName()));
    AdminServer.Answer response = server.send(path + "?name=" + name, jar);
    if (response.statusCode() != CREATED && response.statusCode() != 200) {
      throw server.refusal(response);
    }
    return true;
  }

  private static String digest(Path jar) throws IOException {
    MessageDigest digest = Fingerprint.sha256();
    try (InputStream in = new DigestInputStream(Files.newInputStream(jar), digest)) {
      in.transferTo(OutputStream.nullOutputStream());
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  /** A configuration, or an entry of its applications, that names what was sent by its content. */
  JsonObject inPlaceOfPaths(JsonObject declared) {
    if (declared.getValue("applications") instanceof JsonArray applications) {
      applications.stream().map(JsonObject.class::cast).forEach(this::inPlaceOfPaths);
    }
    if (declared.getValue("runtime_env") instanceof JsonObject environment
        && environment.getValue("jars") instanceof JsonArray jars) {
      environment.put(
          "jars",
          new JsonArray(
              jars.stream()
                  .map(jar -> digests.containsKey(jar) ? "sha256:" + digests.get(jar) : jar)
                  .toList()));
    }
    return declared;
  }
}
