package dev.berth.cluster.http;

import dev.berth.admin.AdminRefusal;
import dev.berth.cluster.http.PeerClient.PeerResponse;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.ContentAddressedJars;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Types;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.AsyncFile;
import io.vertx.core.file.OpenOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prepares a declaration to this node for forwarding. Its jar paths refer to files of this node.
 * The control node receives the missing jars one after the other, and a declaration that names jars
 * by their content. Problems of the declaration are reported here, as by an instance without a
 * cluster. Confined to the control loop.
 *
 * @param file configuration file of the instance
 */
record DeployJarForwarder(Vertx vertx, ControlNodeClient control, ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(DeployJarForwarder.class);

  private static final int BLOCK_BYTES = 256 << 10;

  /** Maximum size of the control node's response about one jar, in bytes. */
  private static final int MAX_RESPONSE_BYTES = 64 << 10;

  /**
   * A parsed declaration.
   *
   * @param jars named by their paths, by digest
   * @param body the declaration with jars named by content; null when there are none
   */
  private record ParsedDeclaration(Map<String, Path> jars, @Nullable Buffer body) {}

  /**
   * Sends the jars that a declaration names by their paths.
   *
   * @param text YAML or JSON
   * @param application application of the entry; null for a whole configuration
   * @return the body to forward; null for the unchanged text. Fails with {@link
   *     CommandRejectedException} for problems of the text, and with {@link AdminRefusal} when the
   *     control node does not store a jar
   */
  Future<@Nullable Buffer> send(NodeInfo peer, String text, @Nullable String application) {
    return vertx
        .executeBlocking(() -> read(text, application), false)
        .compose(
            declared -> {
              Future<Void> sent = Future.succeededFuture();
              for (Map.Entry<String, Path> jar : declared.jars.entrySet()) {
                sent = sent.compose(before -> send(peer, jar.getKey(), jar.getValue()));
              }
              return sent.map(declared.body);
            });
  }

  private ParsedDeclaration read(String text, @Nullable String application) {
    ServeConfig sent;
    try {
      sent =
          SubmittedConfig.read(
              SubmittedConfig.SENT,
              file.folder(),
              text,
              application,
              file,
              sha256 ->
                  Path.of(Types.JAR_BY_CONTENT + sha256)); // the control node checks its store
    } catch (ConfigException refused) {
      throw new CommandRejectedException(
          CommandRejectionReason.INVALID,
          refused.problems().stream().map(ConfigProblem::toString).toList());
    }
    ContentAddressedJars content = new ContentAddressedJars();
    Map<String, Path> jars = new LinkedHashMap<>();
    sent.applications().stream()
        .flatMap(each -> each.jars().stream())
        .filter(each -> !each.toString().startsWith(Types.JAR_BY_CONTENT))
        .forEach(each -> digest(each, content, jars));
    if (jars.isEmpty()) {
      return new ParsedDeclaration(jars, null);
    }
    sent.warnings().forEach(warning -> LOG.warn("{}", warning)); // with positions in the text
    return new ParsedDeclaration(
        jars, content.inPlaceOfPaths(declared(sent, application)).toBuffer());
  }

  private static void digest(Path jar, ContentAddressedJars content, Map<String, Path> jars) {
    try {
      String digest = content.add(jar);
      if (digest != null) { // null when already added
        jars.put(digest, jar);
      }
    } catch (IOException unreadable) {
      throw unreadable(jar, unreadable);
    }
  }

  private static CommandRejectedException unreadable(Path jar, Throwable why) {
    return CommandRejectedException.invalid(
        "%s: %s (expected: a readable file)", jar, why.getMessage());
  }

  /** Returns the part of a configuration that affects a running instance. */
  private static JsonObject declared(ServeConfig sent, @Nullable String application) {
    List<Map<String, @Nullable Object>> entries =
        sent.applications().stream().map(ApplicationConfig::portable).toList();
    // a copy, because the parsed values are immutable
    return application == null
        ? new JsonObject()
            .put(ServeConfig.TARGET_CAPACITY.name(), sent.find(ServeConfig.TARGET_CAPACITY))
            .put(ServeConfig.APPLICATIONS.name(), new JsonArray(entries))
            .copy()
        : new JsonObject(entries.get(0)).copy();
  }

  private Future<Void> send(NodeInfo peer, String digest, Path jar) {
    String path = "/api/v1/jars/" + digest;
    String name = "?name=" + PeerClient.encoded(String.valueOf(jar.getFileName()));
    return control
        .ask(peer, HttpMethod.HEAD, path)
        .compose(HttpClientRequest::send)
        .compose(
            head ->
                head.statusCode() == 200
                    ? Future.succeededFuture()
                    : put(peer, path + name, jar).map(answer -> requireKept(answer, jar)));
  }

  private Future<PeerResponse> put(NodeInfo peer, String path, Path jar) {
    return vertx
        .fileSystem()
        .open(jar.toString(), new OpenOptions().setWrite(false).setCreate(false))
        .recover(gone -> Future.failedFuture(unreadable(jar, gone)))
        .compose(
            opened ->
                Future.all(control.ask(peer, HttpMethod.PUT, path), opened.size())
                    .compose(both -> put(both.resultAt(0), opened, both.resultAt(1)))
                    .eventually(opened::close));
  }

  /**
   * Uploads a jar after the response 100-continue, because a refusal would be lost on a connection
   * that is still written to. The response is read immediately, because it may be the last of its
   * connection.
   */
  private static Future<PeerResponse> put(HttpClientRequest request, AsyncFile file, long bytes) {
    request
        .putHeader(HttpHeaders.CONTENT_LENGTH, Long.toString(bytes))
        .putHeader(HttpHeaders.EXPECT, "100-continue")
        .continueHandler(
            asked ->
                file.setReadBufferSize(BLOCK_BYTES)
                    .pipeTo(request)
                    .onFailure(failed -> request.reset()))
        .sendHead();
    return request.response().compose(head -> PeerClient.whole(head, MAX_RESPONSE_BYTES));
  }

  private static @Nullable Void requireKept(PeerResponse answer, Path jar) {
    if (answer.status() / 100 != 2) {
      String why = jar + ": not stored by the control node: " + answer.body();
      throw new AdminRefusal(answer.status(), "jar_not_kept", why);
    }
    return null;
  }
}
