package dev.berth.ingress;

import dev.berth.config.HttpOptions;
import dev.berth.ingress.limit.HandshakeLimiter;
import dev.berth.net.http.RequestDecoderInstaller;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.spi.transport.Transport;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Transport of an instance's Vert.x: epoll if it loads, else NIO. Puts an {@link Acceptor} in front
 * of the ingress ports. Vert.x shows a connection only when its protocol is known, after the TLS
 * handshake and the first bytes. Limits that must hold earlier are therefore applied here.
 * Thread-safe.
 */
public final class IngressTransport
    implements io.vertx.core.transport.Transport, InvocationHandler {
  private static final int KEEPALIVE_IDLE_S = 60;
  private static final int KEEPALIVE_INTERVAL_S = 10;
  private static final int KEEPALIVE_PROBES = 6;

  private record Address(String host, int port) {}

  private final String name;
  private final Transport transport;
  private final @Nullable Throwable notNative;
  private final HandshakeLimiter handshakes = new HandshakeLimiter();
  private final Map<Address, Ingress> ingresses = new ConcurrentHashMap<>();

  private IngressTransport(String name, Transport transport, @Nullable Throwable notNative) {
    this.name = name;
    this.transport = transport;
    this.notNative = notNative;
  }

  /** Returns the native transport if available, else NIO. */
  public static IngressTransport preferred() {
    io.vertx.core.transport.Transport found = io.vertx.core.transport.Transport.nativeTransport();
    if (found != null && found.available()) {
      return new IngressTransport(found.name(), found.implementation(), null);
    }
    return nio(found == null ? null : found.unavailabilityCause());
  }

  /** Returns the JDK's transport. */
  static IngressTransport nio(@Nullable Throwable notNative) {
    return new IngressTransport("nio", NIO.implementation(), notNative);
  }

  /** Returns a builder of a Vert.x with the transport of an ingress. */
  public VertxBuilder builder() {
    return Vertx.builder().withTransport(this);
  }

  /** Returns the transport with which a Vert.x was built. */
  static IngressTransport of(Vertx vertx) {
    Transport transport = ((VertxInternal) vertx).transport();
    if (Proxy.isProxyClass(transport.getClass())
        && Proxy.getInvocationHandler(transport) instanceof IngressTransport made) {
      return made;
    }
    throw new IllegalStateException(
        "transport: unknown (expected: a Vert.x created with IngressTransport)");
  }

  /** Guards the servers that will listen at the ingress's address. */
  void guard(Ingress ingress) {
    ingresses.put(
        new Address(ingress.settings.get(HttpOptions.HOST), ingress.sharedPort()), ingress);
  }

  /**
   * Returns the reason why the transport is not native; null if native, or if the platform has
   * none.
   */
  public @Nullable Throwable notNative() {
    return notNative;
  }

  /**
   * Returns the number of connections on ports for other nodes that were closed because too many
   * handshakes were unfinished.
   */
  public long handshakesEnded() {
    return handshakes.closedCount();
  }

  private void configure(NetServerOptions options, ServerBootstrap bootstrap) {
    Ingress ingress = ingresses.get(new Address(options.getHost(), options.getPort()));
    if (ingress != null) {
      keepAlive(bootstrap);
      bootstrap.handler(new Acceptor(ingress, bootstrap.config()));
    } else {
      bootstrap.childHandler(strictly(bootstrap.config().childHandler()));
    }
  }

  /** Prepares connections of other servers of the instance, which have Vert.x's limits. */
  private ChannelHandler strictly(ChannelHandler child) {
    HttpServerOptions heads = new HttpServerOptions();
    return new ChannelInitializer<Channel>() {
      @Override
      protected void initChannel(Channel channel) {
        channel.pipeline().addLast(new RequestDecoderInstaller(heads, false), child);
        handshakes.begin(channel); // after its handlers are installed
      }
    };
  }

  /**
   * Enables TCP keep-alive. A client whose host fails sends nothing more, and its silent stream
   * would hold a slot forever. On epoll, the kernel probes after one minute, and gives up after one
   * more.
   */
  private void keepAlive(ServerBootstrap bootstrap) {
    bootstrap.childOption(ChannelOption.SO_KEEPALIVE, true);
    if (name.equals("epoll")) {
      bootstrap.childOption(epoll("TCP_KEEPIDLE"), KEEPALIVE_IDLE_S);
      bootstrap.childOption(epoll("TCP_KEEPINTVL"), KEEPALIVE_INTERVAL_S);
      bootstrap.childOption(epoll("TCP_KEEPCNT"), KEEPALIVE_PROBES);
    }
  }

  /** Returns an option by name, since its class exists only with epoll. */
  private static ChannelOption<Integer> epoll(String option) {
    return ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#" + option);
  }

  // --- for Vert.x ---

  @Override
  public String name() {
    return name;
  }

  @Override
  public boolean available() {
    return transport.isAvailable();
  }

  @Override
  public @Nullable Throwable unavailabilityCause() {
    return transport.unavailabilityCause();
  }

  @Override
  public Transport implementation() {
    return (Transport)
        Proxy.newProxyInstance(
            Transport.class.getClassLoader(), new Class<?>[] {Transport.class}, this);
  }

  /** Delegates to the transport, and then extends server bootstraps. */
  @Override
  public @Nullable Object invoke(Object proxy, Method asked, Object @Nullable [] with)
      throws Throwable {
    Object done;
    try {
      done = asked.invoke(transport, with);
    } catch (InvocationTargetException failed) {
      throw failed.getCause();
    }
    if (with != null && with[0] instanceof NetServerOptions options) {
      configure(options, (ServerBootstrap) with[2]);
    }
    return done;
  }
}
