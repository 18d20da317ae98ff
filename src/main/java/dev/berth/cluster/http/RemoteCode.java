package dev.berth.cluster.http;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.SubmittedConfig;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BuildSource.JarFile;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;

/**
 * What a node builds an application from that another node knows. Belongs to the control loop.
 *
 * @param file what the instance was started with
 */
public record RemoteCode(ControlNode control, JarCache jars, ServeConfig file) {
  /** Of what the control node says of a build; a declaration has at most 4 MiB. */
  private static final int MOST_ENTRY_BYTES = 8 << 20;

  /**
   * The configuration of a build, with jars that are here.
   *
   * @return completes on the control loop; fails with what says which part of it failed, and with
   *     {@link ConfigException} when the entry is not allowed here
   */
  public Future<ApplicationConfig> source(String application, String build) {
    return control
        .again(() -> ask(application, build), failed -> true)
        .compose(
            source ->
                Future.all(source.jars().stream().map(jars::get).toList())
                    .compose(
                        there ->
                            control
                                .vertx()
                                .executeBlocking(
                                    () -> read(application, source, there.list()), false)));
  }

  private Future<BuildSource> ask(String application, String build) {
    String path = "/api/v1/cluster/builds/" + PeerClient.encoded(application) + "/" + build;
    return control
        .send(path)
        .compose(
            response ->
                response.statusCode() == 200
                    ? PeerClient.whole(response, MOST_ENTRY_BYTES)
                        .map(answer -> source(answer.body()))
                    : Future.failedFuture(
                        control.unexpected(response, "build " + build + " of " + application)));
  }

  private static BuildSource source(Buffer body) {
    JsonObject json = body.toJsonObject();
    List<JarFile> files = json.getJsonArray("jars").stream().map(RemoteCode::jarFile).toList();
    return new BuildSource(json.getJsonObject("entry").encode(), files);
  }

  private static JarFile jarFile(Object each) {
    JsonObject jar = (JsonObject) each;
    String sha256 = jar.getString("sha256");
    if (!sha256.matches("[0-9a-f]{64}")) { // it becomes a file's name
      throw new CodeRefused("sha256: " + sha256 + " (expected: 64 digits 0-9a-f)");
    }
    return new JarFile(jar.getString("name"), sha256, jar.getLong("bytes"));
  }

  private ApplicationConfig read(String application, BuildSource source, List<Path> paths) {
    JsonObject entry = new JsonObject(source.entry());
    if (entry.getValue("runtime_env") instanceof JsonObject environment) {
      environment.put("jars", new JsonArray(paths.stream().map(Path::toString).toList()));
    }
    return SubmittedConfig.readOne(
            "application " + application, Path.of("."), entry.encode(), application, file)
        .applications()
        .get(0)
        .placeless();
  }
}
