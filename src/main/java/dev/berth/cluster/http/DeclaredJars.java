package dev.berth.cluster.http;

import dev.berth.admin.AdminRefusal;
import dev.berth.cluster.http.PeerClient.Answer;
import dev.berth.code.JarsByContent;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Types;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
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
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is declared to this node and forwarded: its paths of jars are looked at here, the control
 * node is sent those that it lacks, one after the other, and reads of their content in place of
 * their paths. What is wrong with a declaration is said here, as an instance by itself says it.
 * Belongs to the control loop.
 *
 * @param file what the instance was started with
 */
record DeclaredJars(Vertx vertx, PeerClient client, ServeConfig file) {
  private static final Logger LOG = LoggerFactory.getLogger(DeclaredJars.class);

  private static final int BLOCK_BYTES = 256 << 10;

  /** Of what the control node says of one jar. */
  private static final int MOST_ANSWER_BYTES = 64 << 10;

  /**
   * Sends jars that a declaration names by their paths.
   *
   * @param text YAML or JSON
   * @param application whose entry it is; null for a whole configuration
   * @return what to forward; null for the text as it is. Fails with {@link CommandRefused} for what
   *     is wrong with the text, and {@link AdminRefusal} for what the control node does not keep
   */
  Future<@Nullable Buffer> send(Peer control, String text, @Nullable String application) {
    return vertx
        .executeBlocking(() -> read(text, application), false)
        .compose(sent -> send(control, sent, application));
  }

  private Future<@Nullable Buffer> send(
      Peer control, ServeConfig sent, @Nullable String application) {
    List<Path> paths =
        sent.applications().stream()
            .flatMap(each -> each.jars().stream())
            .filter(each -> !each.toString().startsWith(Types.JAR_BY_CONTENT))
            .toList();
    if (paths.isEmpty()) {
      return Future.succeededFuture();
    }
    sent.warnings().forEach(warning -> LOG.warn("{}", warning)); // with the places of its text
    JarsByContent jars = new JarsByContent();
    Future<?> all = Future.succeededFuture();
    for (Path path : paths) {
      all = all.compose(before -> send(control, path, jars));
    }
    return all.compose(
        there ->
            vertx.executeBlocking(
                () -> jars.inPlaceOfPaths(declared(sent, application)).toBuffer(), false));
  }

  private ServeConfig read(String text, @Nullable String application) {
    try {
      return SubmittedConfig.readSent(
          file.folder(),
          text,
          application,
          file,
          sha256 -> Path.of(Types.JAR_BY_CONTENT + sha256)); // whether it is kept is known there
    } catch (ConfigException refused) {
      throw new CommandRefused(
          Kind.INVALID, refused.problems().stream().map(Problem::toString).toList());
    }
  }

  /** All that has an effect on an instance that runs. */
  private static JsonObject declared(ServeConfig sent, @Nullable String application) {
    List<Map<String, @Nullable Object>> entries =
        sent.applications().stream().map(ApplicationConfig::portable).toList();
    // a copy, since nothing of what was read can be changed
    return application == null
        ? new JsonObject()
            .put(ServeConfig.TARGET_CAPACITY.name(), sent.find(ServeConfig.TARGET_CAPACITY))
            .put(ServeConfig.APPLICATIONS.name(), new JsonArray(entries))
            .copy()
        : new JsonObject(entries.get(0)).copy();
  }

  private Future<Void> send(Peer control, Path jar, JarsByContent jars) {
    return vertx
        .executeBlocking(() -> digest(jar, jars), false)
        .compose(digest -> digest == null ? Future.succeededFuture() : send(control, jar, digest));
  }

  private static @Nullable String digest(Path jar, JarsByContent jars) {
    try {
      return jars.add(jar);
    } catch (IOException unreadable) {
      throw unreadable(jar, unreadable);
    }
  }

  private static CommandRefused unreadable(Path jar, Throwable why) {
    return new CommandRefused(
        Kind.INVALID, jar + ": " + why.getMessage() + " (expected: a readable file)");
  }

  private Future<Void> send(Peer control, Path jar, String digest) {
    String path = "/api/v1/jars/" + digest;
    String name = "?name=" + PeerClient.encoded(String.valueOf(jar.getFileName()));
    return client
        .request(control, HttpMethod.HEAD, path, ForwardRoutes.PATIENCE)
        .compose(HttpClientRequest::send)
        .compose(
            head ->
                head.statusCode() == 200
                    ? Future.succeededFuture()
                    : client
                        .request(control, HttpMethod.PUT, path + name, ForwardRoutes.PATIENCE)
                        .compose(request -> put(request, jar))
                        .map(answer -> requireKept(answer, jar)))
        .recover(
            failed ->
                failed instanceof AdminRefusal || failed instanceof CommandRefused
                    ? Future.failedFuture(failed)
                    : PeerClient.failed(control, failed));
  }

  private Future<Answer> put(HttpClientRequest request, Path jar) {
    return vertx
        .fileSystem()
        .open(jar.toString(), new OpenOptions().setWrite(false).setCreate(false))
        .recover(
            gone -> {
              request.reset();
              return Future.failedFuture(unreadable(jar, gone));
            })
        .compose(
            opened ->
                opened
                    .size()
                    .compose(size -> put(request, opened.setReadBufferSize(BLOCK_BYTES), size))
                    .eventually(opened::close));
  }

  /**
   * Sent when it is asked for: a refusal would be lost on a connection that is still written to.
   * The answer is read at once, for it may be the last of its connection.
   */
  private static Future<Answer> put(HttpClientRequest request, AsyncFile file, long bytes) {
    request
        .putHeader(HttpHeaders.CONTENT_LENGTH, Long.toString(bytes))
        .putHeader(HttpHeaders.EXPECT, "100-continue")
        .continueHandler(asked -> file.pipeTo(request).onFailure(failed -> request.reset()))
        .sendHead();
    return request.response().compose(head -> PeerClient.whole(head, MOST_ANSWER_BYTES));
  }

  private static @Nullable Void requireKept(Answer answer, Path jar) {
    if (answer.status() / 100 != 2) {
      String why = jar + ": the control node does not keep it: " + answer.body();
      throw new AdminRefusal(answer.status(), "jar_not_kept", why);
    }
    return null;
  }
}
