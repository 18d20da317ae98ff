package dev.berth.ingress;

import dev.berth.config.HttpOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.tls.Tls;
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
 * HTTP/1.1 and HTTP/2 in, on one event loop. Deploy one for each loop, on the event loop of its
 * router; they share the port, and Vert.x gives them its connections in turn. What a request comes
 * to is decided by {@link IngressLoop} and {@link Exchange}.
 */
public final class IngressVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(IngressVerticle.class);

  /** Connections that wait to be accepted; the kernel's own bound holds too (4 096 on Linux). */
  private static final int ACCEPT_BACKLOG = 4096;

  private final Ingress ingress;
  private final RouterLoop router;
  private final int index;
  private final Duration stopTimeout;
  private @Nullable HttpServer server;
  private Supplier<Future<Void>> leave = Future::succeededFuture; // once it has joined
  private long tlsTimer = -1;

  /**
   * @param router the router loop of the event loop this is deployed on
   * @param index the loop's index within the instance
   * @param stopTimeout how long undeploying waits for requests under way before it cuts them off
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
    long sweep = vertx.setPeriodic(Ingress.SWEEP_MILLIS, id -> loop.sweep());
    leave =
        () -> {
          vertx.cancelTimer(sweep); // its Vert.x deployment is its loop, which goes on
          loop.dropAll();
          ingress.leave(eventLoop, loop);
          return Future.succeededFuture();
        };
    IngressTransport.of(vertx).guard(ingress);
    Tls tls = ingress.tls;
    if (tls == null) {
      return listen(loop, options());
    }
    return tls.applyTo(options(), vertx)
        .compose(options -> listen(loop, options))
        .onSuccess(
            listening -> {
              if (index == 0) { // what it changes is the port's, and so that of all loops
                long looks = Tls.LOOK_INTERVAL.toMillis();
                tlsTimer = vertx.setPeriodic(looks, id -> tls.reload(vertx, listening));
              }
            });
  }

  private Future<HttpServer> listen(IngressLoop loop, HttpServerOptions options) {
    HttpServer made =
        vertx
            .createHttpServer(options)
            .connectionHandler(loop::opened)
            .requestHandler(loop::handle)
            .invalidRequestHandler(loop::invalid)
            // A client that resets its connection is no news.
            .exceptionHandler(failure -> LOG.debug("a connection failed: {}", failure.toString()));
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
              LOG.debug( // the instance says it, once
                  "loop {} listens on {}:{}",
                  index,
                  ingress.settings.get(HttpOptions.HOST),
                  made.actualPort());
            });
  }

  /**
   * Accepts no more, closes idle connections, and waits for the others up to the timeout; then what
   * their clients have not read is dropped, for which Vert.x would wait.
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
    // Idle connections are the sweep's: Netty's timer knows no request under way.
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
