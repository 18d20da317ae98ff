package dev.berth.ingress;

import dev.berth.config.HttpOptions;
import dev.berth.net.http.FirstBytes;
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
 * The transport of an instance's Vert.x: epoll where it loads, else NIO, with an {@link Acceptor}
 * in front of the ports that an ingress listens on. Vert.x shows a server its connections only when
 * it knows their protocol, which is after the TLS handshake and after the first bytes; so what must
 * hold before that stands here. Any thread.
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
  private final Handshakes handshakes = new Handshakes();
  private final Map<Address, Ingress> ingresses = new ConcurrentHashMap<>();

  private IngressTransport(String name, Transport transport, @Nullable Throwable notNative) {
    this.name = name;
    this.transport = transport;
    this.notNative = notNative;
  }

  /** The native transport if there is one here, else NIO. */
  public static IngressTransport preferred() {
    io.vertx.core.transport.Transport found = io.vertx.core.transport.Transport.nativeTransport();
    if (found != null && found.available()) {
      return new IngressTransport(found.name(), found.implementation(), null);
    }
    return nio(found == null ? null : found.unavailabilityCause());
  }

  /** The transport of the JDK. */
  static IngressTransport nio(@Nullable Throwable notNative) {
    return new IngressTransport("nio", NIO.implementation(), notNative);
  }

  /** A builder of a Vert.x that an ingress can listen in. */
  public VertxBuilder builder() {
    return Vertx.builder().withTransport(this);
  }

  /** The one that a Vert.x was made with. */
  static IngressTransport of(Vertx vertx) {
    Transport transport = ((VertxInternal) vertx).transport();
    if (Proxy.isProxyClass(transport.getClass())
        && Proxy.getInvocationHandler(transport) instanceof IngressTransport made) {
      return made;
    }
    throw new IllegalStateException(
        "transport: another one (expected: a Vert.x made with IngressTransport)");
  }

  /** What listens at its address is watched over from now on. */
  void guard(Ingress ingress) {
    ingresses.put(
        new Address(ingress.settings.get(HttpOptions.HOST), ingress.sharedPort()), ingress);
  }

  /** Why it is not a native one; null when it is, or when there is none for this platform. */
  public @Nullable Throwable notNative() {
    return notNative;
  }

  /** Unfinished TLS handshakes that gave way to others, on the ports for other nodes. */
  public long handshakesEnded() {
    return handshakes.ended();
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

  /** For the other servers of an instance, which have Vert.x's bounds. */
  private ChannelHandler strictly(ChannelHandler child) {
    HttpServerOptions heads = new HttpServerOptions();
    return new ChannelInitializer<Channel>() {
      @Override
      protected void initChannel(Channel channel) {
        channel.pipeline().addLast(new FirstBytes(heads, false), child);
        handshakes.begin(channel); // when its handlers are there
      }
    };
  }

  /**
   * A client whose machine is gone says no more, and no request of its own would tell: a silent
   * stream would hold its slot for it. The kernel asks after a minute, and is answered within the
   * next or not at all.
   */
  private void keepAlive(ServerBootstrap bootstrap) {
    bootstrap.childOption(ChannelOption.SO_KEEPALIVE, true);
    if (name.equals("epoll")) {
      bootstrap.childOption(epoll("TCP_KEEPIDLE"), KEEPALIVE_IDLE_S);
      bootstrap.childOption(epoll("TCP_KEEPINTVL"), KEEPALIVE_INTERVAL_S);
      bootstrap.childOption(epoll("TCP_KEEPCNT"), KEEPALIVE_PROBES);
    }
  }

  /** By name, as the class that has them is there only where epoll is. */
  private static ChannelOption<Integer> epoll(String option) {
    return ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#" + option);
  }

  // --- what Vert.x asks ---

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

  /** All is as the transport does it, and something is added to a server. */
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
