package dev.berth.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;

/**
 * Outbound handler of an HTTP/2 connection, below its flow control.
 *
 * <p>Coalesces the writes of one loop run into one flush. Responses are written after the read of
 * their requests, so each would otherwise cost a system call.
 *
 * <p>Counts the bytes that pass for watched streams. Netty and Vert.x report them only for whole
 * chunks.
 */
final class Http2WriteCoalescer extends FlushConsolidationHandler {
  /** Maximum number of flushes that wait for the end of a loop run. */
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
  private int frameLeft; // bytes left of the current frame

  /**
   * @param cut called when Netty or Berth closes the connection for a flood
   */
  Http2WriteCoalescer(Runnable cut) {
    super(MAX_TOGETHER, true);
    this.cut = cut;
  }

  /** Returns the bytes of a stream that passed since the first call, until {@link #forget}. */
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

  /** Counts a write, which is a frame header alone or with payload, or the rest of a frame. */
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
