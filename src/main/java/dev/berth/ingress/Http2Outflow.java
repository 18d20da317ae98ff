package dev.berth.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;

/**
 * What an HTTP/2 connection sends, below its flow control. Has what is written in one run of the
 * loop leave in one write to the socket: answers come after the read that brought their requests,
 * so that each would be flushed by itself, a system call for each stream of a connection. And
 * counts what its client lets pass of the streams that are watched, which neither Netty nor Vert.x
 * tells before a whole piece has passed.
 */
final class Http2Outflow extends FlushConsolidationHandler {
  /** Flushes that may wait for the end of a run of the loop. */
  private static final int MAX_TOGETHER = 256;

  // RFC 9113, section 4.1.
  private static final int FRAME_HEADER_BYTES = 9;
  private static final int TYPE_AT = 3;
  private static final int STREAM_AT = 5;
  private static final int DATA = 0;
  private static final int GOAWAY = 7;
  private static final int ERROR_AT = 13; // of GOAWAY
  private static final int ENHANCE_YOUR_CALM = 11;

  private final IntObjectMap<long[]> sent = new IntObjectHashMap<>(4); // bytes, by watched stream
  private final Runnable cut;
  private int frameLeft; // bytes of the frame that is being written

  /**
   * @param cut told when the connection is closed for a flood, by whoever counts
   */
  Http2Outflow(Runnable cut) {
    super(MAX_TOGETHER, true);
    this.cut = cut;
  }

  /** Bytes of a stream that have passed since this was first asked; until {@link #forget}. */
  long sent(int stream) {
    return sent.computeIfAbsent(stream, first -> new long[1])[0];
  }

  void forget(int stream) {
    sent.remove(stream);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
      throws Exception {
    if (message instanceof ByteBuf bytes) {
      count(bytes);
    }
    super.write(context, message, promise);
  }

  /** A frame comes as its header, alone or with more of it, and then the rest of it. */
  private void count(ByteBuf bytes) {
    int readable = bytes.readableBytes();
    if (frameLeft == 0 && readable >= FRAME_HEADER_BYTES) {
      int at = bytes.readerIndex();
      int length = bytes.getUnsignedMedium(at);
      frameLeft = FRAME_HEADER_BYTES + length;
      if (bytes.getByte(at + TYPE_AT) == GOAWAY
          && readable > ERROR_AT + 3
          && bytes.getInt(at + ERROR_AT) == ENHANCE_YOUR_CALM) {
        cut.run();
      }
      if (bytes.getByte(at + TYPE_AT) == DATA && !sent.isEmpty()) {
        long[] counted = sent.get(bytes.getInt(at + STREAM_AT) & Integer.MAX_VALUE);
        if (counted != null) {
          counted[0] += length;
        }
      }
    }
    frameLeft = Math.max(0, frameLeft - readable);
  }
}
