package dev.berth.ingress;

import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.tls.HttpServerTls;
import dev.berth.net.http.StreamHeads;
import dev.berth.routing.RouterLoop;
import io.netty.channel.EventLoop;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves HTTP/1.1 and HTTP/2 on one event loop. Deploy one verticle per loop, on the event loop of
 * its router. The verticles share the port, and Vert.x distributes connections in turn. {@link
 * IngressLoop} and {@link HttpExchange} decide on requests.
 */
public final class IngressVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(IngressVerticle.class);

  /**
   * Maximum number of connections that wait for accept. The kernel's own limit also applies (4 096
   * on Linux).
   */
  private static final int ACCEPT_BACKLOG = 4096;

  private final Ingress ingress;
  private final RouterLoop router;
  private final int index;
  private final Duration stopTimeout;
  private @Nullable HttpServer server;
  private Supplier<Future<Void>> leave = Future::succeededFuture; // set after joining
  private long tlsTimer = -1;

  /**
   * @param router router loop of the event loop of this deployment
   * @param index index of the loop in the instance
   * @param stopTimeout maximum wait of an undeploy for in-flight requests; then they are aborted
   */
  public IngressVerticle(Ingress ingress, RouterLoop router, int index, Duration stopTimeout) {
    this.ingress = ingress;
    this.router = router;
    this.index = index;
    this.stopTimeout = stopTimeout;
  }

  @Override
  public Future<?> start() {
    IngressLoop loop = new IngressLoop(ingress, router, index, context);
    EventLoop eventLoop = ((ContextInternal) context).nettyEventLoop();
    ingress.join(eventLoop, loop);
    loop.start();
    leave =
        () -> {
          loop.sweeps.stop(); // the loop outlives the ingress
          loop.dropAll();
          ingress.leave(eventLoop, loop);
          return Future.succeededFuture();
        };
    IngressTransport.of(vertx).guard(ingress);
    HttpServerTls tls = ingress.tls;
    if (tls == null) {
      return listen(loop, options());
    }
    return tls.applyTo(options(), vertx)
        .compose(options -> listen(loop, options))
        .onSuccess(
            listening -> {
              if (index == 0) { // the port's options, and so those of all loops
                long looks = HttpServerTls.LOOK_INTERVAL.toMillis();
                tlsTimer = vertx.setPeriodic(looks, id -> tls.reload(vertx, listening));
              }
            });
  }

  private Future<HttpServer> listen(IngressLoop loop, HttpServerOptions options) {
    HttpServer made =
        vertx
            .createHttpServer(options)
            .connectionHandler(loop::onConnectionOpened)
            .requestHandler(loop::handle)
            .invalidRequestHandler(loop::invalid)
            // Resets by clients are common.
            .exceptionHandler(failure -> LOG.debug("connection failed: {}", failure.toString()));
    server = made;
    return made.listen()
        .recover(
            failed ->
                Future.failedFuture(
                    new IOException(
                        "http_options: cannot listen on %s:%s: %s"
                            .formatted(
                                ingress.settings.get(HttpOptions.HOST),
                                ingress.sharedPort(),
                                failed.getMessage()))))
        .onSuccess(
            listening -> {
              ingress.listening(made.actualPort());
              LOG.debug( // the instance logs the port once
                  "loop {} listens on {}:{}",
                  index,
                  ingress.settings.get(HttpOptions.HOST),
                  made.actualPort());
            });
  }

  /**
   * Stops accepting, closes idle connections, and waits for the others until the timeout. Then
   * drops unread bytes, as Vert.x would wait for them.
   */
  @Override
  public Future<?> stop() {
    HttpServer listening = server;
    if (listening == null) {
      return Future.succeededFuture();
    }
    vertx.cancelTimer(tlsTimer);
    return listening.shutdown(stopTimeout.toMillis(), TimeUnit.MILLISECONDS).eventually(leave);
  }

  private HttpServerOptions options() {
    Settings settings = ingress.settings;
    HttpServerOptions options = new HttpServerOptions(ingress.heads);
    options.setHost(settings.get(HttpOptions.HOST)).setPort(ingress.sharedPort());
    options.setAcceptBacklog(ACCEPT_BACKLOG);
    // The sweep ends idle connections: Netty's timer ignores in-flight requests.
    options.setIdleTimeout(0);
    options.setHttp2ClearTextEnabled(true);
    options.setInitialSettings(
        new Http2Settings()
            .setMaxConcurrentStreams(settings.get(LimitOptions.HTTP2_MAX_STREAMS))
            .setMaxHeaderListSize(
                (long) StreamHeads.READ_LIMITS * settings.get(LimitOptions.MAX_HEADER_BYTES)));
    options.setHttp2ConnectionWindowSize(settings.get(LimitOptions.HTTP2_CONNECTION_WINDOW_BYTES));
    options.setHttp2RstFloodMaxRstFramePerWindow(settings.get(LimitOptions.HTTP2_MAX_RESETS));
    options.setHttp2RstFloodWindowDuration(
        (int) settings.get(LimitOptions.HTTP2_RESET_WINDOW_S).toSeconds());
    options.setHttp2RstFloodWindowDurationTimeUnit(TimeUnit.SECONDS);
    options.setPerFrameWebSocketCompressionSupported(false);
    options.setPerMessageWebSocketCompressionSupported(false);
    return options;
  }
}
