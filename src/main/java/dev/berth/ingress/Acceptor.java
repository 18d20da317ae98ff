package dev.berth.ingress;

import io.netty.bootstrap.ServerBootstrapConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GenericFutureListener;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes each connection that the port accepts: closes it at once when there are too many, gives it
 * to an event loop that is not blocked, and sets a {@link HeadWatch} on it. It does what Netty's
 * own acceptor does, except attributes, of which Vert.x sets none; that one stands behind it for
 * what is not a connection. On the acceptor's thread.
 */
final class Acceptor extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);

  /** Milliseconds, little more: clients are told nothing else meanwhile. */
  private static final int MOST_TURNS = 50;

  /** To a client that is far. */
  private static final int ROUND_TRIP_MS = 100;

  private final Ingress ingress;
  private final ServerBootstrapConfig bootstrap;
  private long came; // connections so far

  Acceptor(Ingress ingress, ServerBootstrapConfig bootstrap) {
    this.ingress = ingress;
    this.bootstrap = bootstrap;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext server) {
    ingress.listens(() -> server.executor().execute(() -> closeSoon(server)));
  }

  /** Those whose handshake is under way come within a round trip. */
  private void closeSoon(ChannelHandlerContext server) {
    long rest = SynFilter.set(server.channel()) ? ROUND_TRIP_MS : 0;
    server.executor().schedule(() -> close(server, MOST_TURNS), rest, TimeUnit.MILLISECONDS);
  }

  /**
   * Once a turn of the loop has accepted nothing, or at the last of so many: the kernel resets
   * those that it has taken for a port that closes, and in each turn one is accepted.
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
          .addListener(dropUnlessDone(accepted)); // its loop may end before its turn comes
    } else {
      accepted.unsafe().closeForcibly();
      ingress.closed();
    }
  }

  private void accept(Channel accepted) {
    try {
      EventLoop loop = choose(bootstrap.childGroup());
      accepted.closeFuture().addListener(closed -> ingress.closed());
      accepted
          .pipeline()
          .addLast(
              new HeadWatch(ingress.loopOf(loop)), ingress.firstBytes(), bootstrap.childHandler());
      accepted.config().setOptions(bootstrap.childOptions());
      loop.register(accepted).addListener(dropUnlessDone(accepted));
    } catch (RuntimeException | OutOfMemoryError stopping) {
      drop(accepted, stopping); // the loop that was to serve it has just gone, as a rule
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
    LOG.debug("a connection was not taken: {}", cause.toString());
    accepted.unsafe().closeForcibly();
    ingress.closed(); // its close future is not completed, since it never opened
  }

  /** The next loop in turn that is not blocked; if all are, then just the next one. */
  private EventLoop choose(EventLoopGroup loops) {
    EventLoop next = loops.next();
    for (int skipped = 0; skipped < ingress.loops() && ingress.isBlocked(next); skipped++) {
      next = loops.next();
    }
    return next;
  }
}
