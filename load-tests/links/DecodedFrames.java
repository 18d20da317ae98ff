import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.internal.net.NetSocketInternal;

/**
 * The same as {@link Frames} below the buffers of Vert.x: Netty's decoder in the socket's pipeline,
 * and writes from pooled memory. Only a socket can have it.
 */
final class DecodedFrames implements Link {
  private final Context loop;
  private final NetSocketInternal socket;
  private ByteBuf unsent;
  private int expected;

  DecodedFrames(Context loop, NetSocketInternal socket, Receiver receiver) {
    this.loop = loop;
    this.socket = socket;
    ChannelHandlerContext own = socket.channelHandlerContext();
    own.pipeline()
        .addBefore(
            own.name(),
            "frames",
            new LengthFieldBasedFrameDecoder(Frames.MOST, 0, Frames.LENGTH, 0, Frames.LENGTH));
    socket.messageHandler(
        message -> {
          ByteBuf frame = (ByteBuf) message;
          int id = frame.readInt();
          byte[] body = new byte[frame.readableBytes()];
          frame.readBytes(body);
          frame.release();
          receiver.received(id, Buffer.buffer(body));
        });
  }

  @Override
  public void send(int id, Buffer body) {
    if (unsent == null) {
      unsent = socket.channelHandlerContext().alloc().directBuffer(expected);
      loop.runOnContext(task -> flush());
    }
    unsent
        .writeInt(Frames.ID + body.length())
        .writeInt(id)
        .writeBytes(((BufferInternal) body).getByteBuf());
  }

  private void flush() {
    ByteBuf all = unsent;
    unsent = null;
    expected = all.readableBytes(); // the next tick is much like this one
    socket.writeMessage(all);
  }
}
