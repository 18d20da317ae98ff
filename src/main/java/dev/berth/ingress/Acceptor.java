package dev.berth.ingress;

import dev.berth.ingress.edge.ProxyPreface;
import dev.berth.ingress.limit.SynFilter;
import io.netty.bootstrap.ServerBootstrapConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts the connections of the port. Closes a connection at once above the limits, else registers
 * it with an event loop that is not blocked and adds a {@link SlowHeaderGuard}. Replaces Netty's
 * own acceptor, except for channel attributes, which Vert.x does not set. Netty's acceptor stays
 * behind this handler for messages that are not connections. Confined to the acceptor's thread.
 */
final class Acceptor extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);

  /**
   * Maximum number of waits of about 1 ms. Until the port closes, clients do not learn that the
   * instance stops.
   */
  private static final int MAX_TURNS = 50;

  /** Round trip to a distant client, in milliseconds. */
  private static final int ROUND_TRIP_MS = 100;

  private final Ingress ingress;
  private final ServerBootstrapConfig bootstrap;
  private long came; // connections accepted so far

  Acceptor(Ingress ingress, ServerBootstrapConfig bootstrap) {
    this.ingress = ingress;
    this.bootstrap = bootstrap;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext server) {
    ingress.listens(() -> server.executor().execute(() -> closeSoon(server)));
  }

  /**
   * Closes the port. If the kernel can drop new connections, those in the TCP handshake first get
   * one round trip to arrive.
   */
  private void closeSoon(ChannelHandlerContext server) {
    long rest = SynFilter.set(server.channel()) ? ROUND_TRIP_MS : 0;
    server.executor().schedule(() -> close(server, MAX_TURNS), rest, TimeUnit.MILLISECONDS);
  }

  /**
   * Closes the port after a turn without an accepted connection, or when no turns remain. A closing
   * port makes the kernel reset connections of the backlog, from which each turn accepts one.
   */
  private void close(ChannelHandlerContext server, int turns) {
    long before = came;
    server
        .executor()
        .schedule(
            () -> {
              if (came == before || turns == 0) {
                server.channel().close();
              } else {
                close(server, turns - 1);
              }
            },
            1,
            TimeUnit.MILLISECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext server, Object message) {
    came++;
    if (!(message instanceof Channel accepted)) {
      server.fireChannelRead(message);
    } else if (ingress.tryOpen()) {
      acceptInTurn(server, accepted);
    } else {
      accepted.unsafe().closeForcibly();
    }
  }

  private void acceptInTurn(ChannelHandlerContext server, Channel accepted) {
    long wait = ingress.waits(accepted.remoteAddress());
    if (wait == 0) {
      accept(accepted);
    } else if (wait > 0) {
      server
          .executor()
          .schedule(() -> accept(accepted), wait, TimeUnit.NANOSECONDS)
          .addListener(dropUnlessDone(accepted)); // the loop may end before the delay does
    } else {
      accepted.unsafe().closeForcibly();
      ingress.onConnectionClosed();
    }
  }

  private void accept(Channel accepted) {
    try {
      EventLoop loop = choose(bootstrap.childGroup());
      accepted.closeFuture().addListener(closed -> ingress.onConnectionClosed());
      ChannelPipeline pipeline =
          accepted.pipeline().addLast(new SlowHeaderGuard(ingress.loopOf(loop)));
      ProxyPreface preface = ingress.preface(accepted.remoteAddress());
      if (preface != null) {
        pipeline.addLast(preface);
      }
      pipeline.addLast(ingress.firstBytes(), bootstrap.childHandler());
      accepted.config().setOptions(bootstrap.childOptions());
      loop.register(accepted).addListener(dropUnlessDone(accepted));
    } catch (RuntimeException | OutOfMemoryError stopping) {
      drop(accepted, stopping); // usually the chosen loop has just stopped
    }
  }

  private GenericFutureListener<Future<Object>> dropUnlessDone(Channel accepted) {
    return step -> {
      if (!step.isSuccess()) {
        drop(accepted, step.cause());
      }
    };
  }

  private void drop(Channel accepted, Throwable cause) {
    LOG.debug("connection not accepted: {}", cause.toString());
    accepted.unsafe().closeForcibly();
    ingress.onConnectionClosed(); // a channel that never opened does not complete its close future
  }

  /**
   * Returns the next event loop in rotation that is not blocked, or the next one if all are
   * blocked.
   */
  private EventLoop choose(EventLoopGroup loops) {
    EventLoop next = loops.next();
    for (int skipped = 0; skipped < ingress.loops() && ingress.isBlocked(next); skipped++) {
      next = loops.next();
    }
    return next;
  }
}
