import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;

/** HTTP/1.1, one request at a time. */
final class Http1Line extends Line {
  private final ByteBuf request;
  private final byte[] bytes;
  private final AnswerReader reader = new AnswerReader();
  private long askedAt;

  /**
   * @param request never changed, and never released
   * @param bytes for what was read, shared by all lines of a client
   */
  Http1Line(ByteBuf request, byte[] bytes, int status) {
    super(1, status);
    this.request = request;
    this.bytes = bytes;
  }

  @Override
  void ask(ChannelHandlerContext to) {
    askedAt = System.nanoTime();
    to.write(request.retainedDuplicate(), to.voidPromise());
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) throws IOException {
    ByteBuf read = (ByteBuf) message;
    try {
      while (read.isReadable()) {
        int length = Math.min(read.readableBytes(), bytes.length);
        read.readBytes(bytes, 0, length);
        if (reader.take(bytes, length)) {
          answered(askedAt, reader.status());
        }
      }
    } finally {
      read.release();
    }
  }
}
