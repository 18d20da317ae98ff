package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_CREATED;

import dev.berth.cli.CliCommand.Ended;
import dev.berth.code.JarsByContent;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;

/** Jars that were sent to a server, which then go by their content in what is deployed. */
final class JarUploads {

  private final JarsByContent jars = new JarsByContent();

  /**
   * Sends one, unless the server has it.
   *
   * @return whether it was sent
   * @throws Ended when the server does not keep it, or it cannot be read
   */
  boolean send(Path jar, AdminServer server) throws InterruptedException {
    String digest;
    try {
      digest = jars.add(jar);
    } catch (IOException unreadable) {
      server.say(jar + ": " + unreadable.getMessage() + " (expected: a readable file)");
      throw new Ended(1);
    }
    String path = AdminServer.path("jars", String.valueOf(digest));
    if (digest == null || server.send("HEAD", path, null).statusCode() == 200) {
      return false;
    }
    String name = AdminServer.encoded(String.valueOf(jar.getFileName()));
    AdminServer.Answer response = server.send(path + "?name=" + name, jar);
    if (response.statusCode() != HTTP_CREATED && response.statusCode() != 200) {
      throw server.refusal(response);
    }
    return true;
  }

  /** A configuration, or an entry of its applications, that names what was sent by its content. */
  JsonObject inPlaceOfPaths(JsonObject declared) {
    return jars.inPlaceOfPaths(declared);
  }
}
