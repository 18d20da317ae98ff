import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.io.IOException;

/** One connection of a row: asks again when it was answered, for as long as a slice lasts. */
abstract class Line extends ChannelInboundHandlerAdapter {
  private final int width;
  private final int status;
  private ChannelHandlerContext context;
  private Slice slice;
  private IOException broken;

  /**
   * @param width requests at a time
   * @param status that an answer must have
   */
  Line(int width, int status) {
    this.width = width;
    this.status = status;
  }

  /** Writes one request, and flushes nothing. */
  abstract void ask(ChannelHandlerContext to);

  final void begin(Slice next) {
    slice = next;
    if (broken != null) {
      slice.fail(broken);
      return;
    }
    for (int i = 0; i < width; i++) {
      slice.asked();
      ask(context);
    }
    context.flush();
  }

  final void answered(long askedAt, int was) {
    if (was != status) {
      fail(new IOException("status " + was + " (expected: " + status + ")"));
    } else if (slice.answered(askedAt)) {
      ask(context);
    }
  }

  final void fail(IOException why) {
    if (broken == null) {
      broken = why;
      if (slice != null) {
        slice.fail(why);
      }
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    context = added;
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext from) {
    from.flush();
  }

  @Override
  public void channelInactive(ChannelHandlerContext from) {
    fail(new IOException("the server has closed a connection"));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext from, Throwable cause) {
    fail(new IOException(cause.toString(), cause));
  }
}
