package dev.berth.web;

import dev.berth.api.AsyncHandler;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.port.VertxContext;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.impl.RouterImpl;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A handler that passes its requests to a Router. */
final class RouterHandler implements AsyncHandler {
  final ContextInternal own; // of the replica; for requests that come without a context
  private final RouterImpl router;
  private volatile @Nullable RouterRoutes routes; // null after a change of the Router
  private @Nullable Path uploads; // guarded by this

  private RouterHandler(ContextInternal own, RouterImpl router) {
    this.own = own;
    this.router = router;
    router.modifiedHandler(changed -> routes = null);
  }

  static RouterHandler create(ReplicaContext replica, RouterBuilder builder) throws Exception {
    if (!(replica instanceof VertxContext vertx)) {
      throw new IllegalArgumentException(
          "replica: " + replica.getClass().getName() + " (expected: the context of an instance)");
    }
    ContextInternal own = (ContextInternal) vertx.vertxContext();
    RouterImpl router = (RouterImpl) Router.router(own.owner());
    RouterHandler handler = new RouterHandler(own, router);
    ContextInternal before = own.beginDispatch(); // of timers and consumers that it creates
    try {
      builder.build(router, new WebReplica(replica, own.owner(), handler::uploads));
    } finally {
      own.endDispatch(before);
    }
    return handler;
  }

  @Override
  public boolean streamsRequests() {
    return true;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    ContextInternal current = ContextInternal.current();
    return new RouterRequest(this, request, context, current == null ? own : current).route();
  }

  RouterImpl router() {
    return router;
  }

  RouterRoutes routes() {
    RouterRoutes known = routes;
    if (known == null) {
      known = RouterRoutes.of(router);
      routes = known;
    }
    return known;
  }

  synchronized String uploads() {
    try {
      if (uploads == null) {
        uploads = Files.createTempDirectory("berth-uploads-");
      }
      return uploads.toString();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Returns whether a file is in the directory of uploads. */
  synchronized boolean isUpload(String file) {
    return uploads != null && Path.of(file).toAbsolutePath().startsWith(uploads);
  }

  @Override
  public synchronized void stop() {
    if (uploads != null) {
      own.owner().fileSystem().deleteRecursiveBlocking(uploads.toString());
      uploads = null;
    }
  }
}
