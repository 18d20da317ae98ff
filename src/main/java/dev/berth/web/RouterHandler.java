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
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A handler that passes its requests to a Router. */
final class RouterHandler implements AsyncHandler {
  final ContextInternal own; // of the replica; for requests that come without a context
  private final RouterImpl router;
  private volatile @Nullable RouterRoutes routes; // null after a change of the Router
  private volatile @Nullable Path uploads; // written under the lock of this
  private boolean stopped; // guarded by this

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
    ApplicationVertx view =
        new ApplicationVertx(
            own.owner(), replica.deployment().application(), builder.getClass().getClassLoader());
    RouterImpl router = (RouterImpl) Router.router(view);
    RouterHandler handler = new RouterHandler(own, router);
    ContextInternal before = own.beginDispatch(); // of timers and consumers that it creates
    try {
      builder.build(router, new WebReplica(replica, view, handler::uploads));
    } catch (Throwable failure) {
      handler.stop();
      throw failure;
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
      if (uploads == null && !stopped) {
        uploads = Files.createTempDirectory("berth-uploads-");
      }
      return Objects.requireNonNull(uploads, "replica: stopped (expected: running)").toString();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Returns whether a file is in the directory of uploads. */
  boolean isUpload(String file) {
    Path folder = uploads;
    return folder != null && Path.of(file).toAbsolutePath().startsWith(folder);
  }

  /** Deletes the directory of uploads. May block, and does not delay the loops meanwhile. */
  @Override
  public void stop() {
    Path folder;
    synchronized (this) {
      stopped = true;
      folder = uploads;
    }
    if (folder != null) {
      own.owner().fileSystem().deleteRecursiveBlocking(folder.toString());
    }
  }
}
