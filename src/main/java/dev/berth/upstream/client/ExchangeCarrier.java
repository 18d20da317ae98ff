package dev.berth.upstream.client;

import io.netty.channel.ChannelFuture;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import org.jspecify.annotations.Nullable;

/** The part of a connection that carries one exchange. Confined to the event loop. */
sealed interface ExchangeCarrier permits UpstreamConnection, StreamCarrier {

  /** Returns whether the head of the request is written at once. */
  boolean isUsable();

  /**
   * Writes a part of the request's body.
   *
   * @param piece null for the end of the body
   * @param chunked whether the length of the body is unknown
   */
  Future<Void> write(@Nullable Buffer piece, boolean chunked);

  boolean hasUnwritten();

  /** Counts a write that the socket has yet to accept: 1 at its begin, -1 at its end. */
  void countUnwritten(int more);

  /** Completes when the socket has accepted a write. */
  default Future<Void> accept(ContextInternal loop, ChannelFuture given) {
    if (given.isSuccess()) {
      return loop.succeededFuture();
    }
    Promise<Void> accepted = loop.promise();
    countUnwritten(1);
    given.addListener(
        done -> {
          countUnwritten(-1);
          if (done.isSuccess()) {
            touch();
            accepted.complete();
          } else {
            accepted.fail(done.cause());
          }
        });
    return accepted.future();
  }

  /** Returns whether the response was read to its end; an unknown end counts as not read. */
  boolean isComplete();

  /** Reads the response, or stops reading it. */
  void read(boolean on);

  /** Stops a cancelled exchange at the upstream. */
  void stop();

  /** Ends a cancelled exchange that has sent nothing. */
  void abandon();

  /** Fails the exchange in a later event, unless it has ended or is cancelled by then. */
  void failLater(String reason);

  /** Records progress. */
  void touch();

  long now();

  /** Handles the end of the exchange, before its listener does. */
  void onOver();
}
