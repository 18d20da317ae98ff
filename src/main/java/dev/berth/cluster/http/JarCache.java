package dev.berth.cluster.http;

import dev.berth.admin.DigestingFileWriter;
import dev.berth.admin.JarRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.Jar;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A local cache of the control node's jars, by SHA-256. A missing jar is fetched; an interrupted
 * transfer resumes at its end, and the content must match the digest. Confined to the control loop.
 */
public final class JarCache {
  private static final Logger LOG = LoggerFactory.getLogger(JarCache.class);

  private final JarCatalog here;
  private final ControlNodeClient control;
  private final String path;
  private Future<Path> last = Future.failedFuture("none"); // the last fetch, pending or complete

  /**
   * Creates a cache.
   *
   * @param here the fetched jars
   * @param path path of jars on the control node
   */
  public JarCache(JarCatalog here, ControlNodeClient control, String path) {
    this.here = here;
    this.control = control;
    this.path = path;
  }

  /**
   * Fetches a jar that the control node has lost from the first node with a complete copy.
   *
   * @param here jars of the control node
   * @param others nodes to try, in order
   */
  public static Future<Path> restore(
      Vertx vertx, PeerClient client, List<NodeInfo> others, JarCatalog here, Jar jar) {
    Future<Path> found = Future.failedFuture("no other node");
    for (NodeInfo other : others) {
      ControlNodeClient node =
          new ControlNodeClient(vertx, client, () -> other, () -> true, () -> "");
      JarCache cache = new JarCache(here, node, JarRoutes.FETCHED);
      found =
          found.recover(
              none ->
                  node.get(206, cache.path + jar.digest(), "Range", "bytes=0-0")
                      .compose(
                          first -> cache.get(new JarFile(jar.name(), jar.digest(), size(first))))
                      .onSuccess(
                          there ->
                              LOG.info(
                                  "state: {}: fetched from {}", there, PeerClient.name(other))));
    }
    return found;
  }

  private static long size(HttpClientResponse first) {
    first.resume(); // discards the byte
    String range = first.getHeader(HttpHeaders.CONTENT_RANGE);
    return Long.parseLong(range.substring(range.indexOf('/') + 1));
  }

  /**
   * Returns the local path of a jar, valid for at least an hour or while the jar is in use.
   *
   * @return fails with a message that names the jar and the cause
   */
  Future<Path> get(JarFile jar) {
    return here.find(jar.sha256())
        .compose(there -> there == null ? fetchNext(jar) : Future.succeededFuture(there))
        .recover(failed -> failedFuture(jar, failed));
  }

  private static Future<Path> failedFuture(JarFile jar, Throwable failed) {
    String why = PeerClient.why(failed);
    return Future.failedFuture(
        new IOException("jar %s (sha256 %s): %s".formatted(jar.name(), jar.sha256(), why)));
  }

  /**
   * Fetches jars one after the other, because all come from one node. The previous fetch may have
   * been for the same jar.
   */
  private Future<Path> fetchNext(JarFile jar) {
    last =
        last.transform(before -> here.find(jar.sha256()))
            .compose(there -> there == null ? fetch(jar) : Future.succeededFuture(there));
    return last;
  }

  private Future<Path> fetch(JarFile jar) {
    return DigestingFileWriter.keep(control.vertx(), here, jar, file -> fill(file, jar))
        .compose(kept -> here.find(jar.sha256()));
  }

  private Future<Void> fill(DigestingFileWriter file, JarFile jar) {
    return control.again(
        () -> file.bytes() == jar.bytes() ? Future.succeededFuture() : ask(file, jar));
  }

  private Future<Void> ask(DigestingFileWriter file, JarFile jar) {
    String range = "bytes=%s-%s".formatted(file.bytes(), jar.bytes() - 1);
    return control
        .get(206, path + jar.sha256(), "Range", range)
        .compose(response -> file.append(response).onFailure(failed -> response.request().reset()));
  }
}
