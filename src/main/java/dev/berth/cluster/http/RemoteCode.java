package dev.berth.cluster.http;

import dev.berth.cluster.http.PeerClient.Answer;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DeclaredEntry;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.json.RecordReader;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

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
        .again(() -> ask(application, build))
        .map(said -> new RecordReader().record("", said.toJsonObject(), BuildSource.class))
        .compose(
            source ->
                Future.all(source.jars().stream().map(jars::get).toList())
                    .compose(
                        there ->
                            control
                                .vertx()
                                .executeBlocking(
                                    () ->
                                        DeclaredEntry.read(
                                            application, source.entry(), there.list(), file),
                                    false)));
  }

  private Future<Buffer> ask(String application, String build) {
    String path = "/api/v1/cluster/builds/" + PeerClient.encoded(application) + "/" + build;
    return control
        .get(200, path)
        .compose(response -> PeerClient.whole(response, MOST_ENTRY_BYTES))
        .map(Answer::body);
  }
}
