package dev.berth.cluster.http;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DeclaredEntry;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.json.RecordReader;
import io.vertx.core.Future;

/**
 * Fetches the source of an application's build from the control node. Confined to the control loop.
 *
 * @param file configuration file of the instance
 */
public record RemoteBuildFetcher(ControlNodeClient control, JarCache jars, ServeConfig file) {
  /**
   * Maximum size of the control node's response about a build, in bytes. A declaration has at most
   * 4 MiB.
   */
  private static final int MAX_ENTRY_BYTES = 8 << 20;

  /**
   * Returns the configuration of a build, with local jars.
   *
   * @return completes on the control loop; fails with a message that names the failed part, and
   *     with {@link ConfigException} when the entry is not allowed on this node
   */
  public Future<ApplicationConfig> source(String application, String build) {
    String path = "/api/v1/cluster/builds/" + PeerClient.encoded(application) + "/" + build;
    return control
        .again(
            () ->
                control
                    .get(200, path)
                    .compose(response -> PeerClient.whole(response, MAX_ENTRY_BYTES)))
        .map(said -> new RecordReader().record("", said.body().toJsonObject(), BuildSource.class))
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
}
