package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_CREATED;

import dev.berth.cli.CliCommand.CommandExitException;
import dev.berth.code.ContentAddressedJars;
import java.io.IOException;
import java.nio.file.Path;

/** Jars sent to a server; deployed configurations then name them by their digest. */
final class JarUploads {

  /** Digests of the jars that were sent, or that the server had. */
  final ContentAddressedJars jars = new ContentAddressedJars();

  /**
   * Sends a jar, unless the server has it.
   *
   * @return whether the jar was sent
   * @throws CommandExitException when the server rejects the jar, or the jar is not readable
   */
  boolean send(Path jar, AdminHttpClient server) throws InterruptedException {
    String digest;
    try {
      digest = jars.add(jar);
    } catch (IOException unreadable) {
      server.say(jar + ": " + unreadable.getMessage() + " (expected: a readable file)");
      throw new CommandExitException(1);
    }
    String path = AdminHttpClient.path("jars", String.valueOf(digest));
    if (digest == null || server.send("HEAD", path, null).statusCode() == 200) {
      return false;
    }
    String name = AdminHttpClient.encoded(String.valueOf(jar.getFileName()));
    AdminHttpClient.AdminHttpReply response = server.send(path + "?name=" + name, jar);
    if (response.statusCode() != HTTP_CREATED && response.statusCode() != 200) {
      throw server.refusal(response);
    }
    return true;
  }
}
