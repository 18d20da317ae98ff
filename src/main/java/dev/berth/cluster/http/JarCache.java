package dev.berth.cluster.http;

import dev.berth.admin.DigestedFile;
import dev.berth.admin.JarRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.Jar;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.JarShelf;
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
 * Jars that the control node keeps, by their SHA-256, as they are here: one that is not is fetched,
 * goes on where it broke off, and is what it says it is. Belongs to the control loop.
 */
public final class JarCache {
  private static final Logger LOG = LoggerFactory.getLogger(JarCache.class);

  private final JarShelf here;
  private final ControlNode control;
  private final String path;
  private Future<Path> last = Future.failedFuture("none"); // that is or was fetched

  /**
   * @param here those that were fetched
   * @param path of jars there
   */
  public JarCache(JarShelf here, ControlNode control, String path) {
    this.here = here;
    this.control = control;
    this.path = path;
  }

  /**
   * Fetches a jar that the control node has lost from the first node that has it whole.
   *
   * @param here jars of the control node
   * @param others tried in turn
   */
  public static Future<Path> restore(
      Vertx vertx, PeerClient client, List<NodeInfo> others, JarShelf here, Jar jar) {
    Future<Path> found = Future.failedFuture("no other node");
    for (NodeInfo other : others) {
      ControlNode node = new ControlNode(vertx, client, () -> other, () -> true, () -> "");
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
                                  "state: {}: fetched whole from {}",
                                  there,
                                  PeerClient.name(other))));
    }
    return found;
  }

  private static long size(HttpClientResponse first) {
    first.resume(); // its byte is dropped
    String range = first.getHeader(HttpHeaders.CONTENT_RANGE);
    return Long.parseLong(range.substring(range.indexOf('/') + 1));
  }

  /**
   * Where a jar lies, for at least an hour, or as long as it is in use.
   *
   * @return fails with what says of which jar what failed
   */
  Future<Path> get(JarFile jar) {
    return here.find(jar.sha256())
        .compose(there -> there == null ? fetchNext(jar) : Future.succeededFuture(there))
        .recover(failed -> failed(jar, failed));
  }

  private static Future<Path> failed(JarFile jar, Throwable failed) {
    String why = PeerClient.why(failed);
    return Future.failedFuture(
        new IOException("jar %s (sha256 %s): %s".formatted(jar.name(), jar.sha256(), why)));
  }

  /** One after the other, for they come from one node; it may have been the one before. */
  private Future<Path> fetchNext(JarFile jar) {
    last =
        last.transform(before -> here.find(jar.sha256()))
            .compose(there -> there == null ? fetch(jar) : Future.succeededFuture(there));
    return last;
  }

  private Future<Path> fetch(JarFile jar) {
    return DigestedFile.keep(control.vertx(), here, jar, file -> fill(file, jar))
        .compose(kept -> here.find(jar.sha256()));
  }

  private Future<Void> fill(DigestedFile file, JarFile jar) {
    return control.again(
        () -> file.bytes() == jar.bytes() ? Future.succeededFuture() : ask(file, jar));
  }

  private Future<Void> ask(DigestedFile file, JarFile jar) {
    String range = "bytes=%s-%s".formatted(file.bytes(), jar.bytes() - 1);
    return control
        .get(206, path + jar.sha256(), "Range", range)
        .compose(response -> file.append(response).onFailure(failed -> response.request().reset()));
  }
}
