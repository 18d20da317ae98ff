import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * HTTP/2 with prior knowledge, some requests at a time, behind a decoder that hands on whole
 * frames. It asks for one path by the same bytes each time and knows no more of an answer than its
 * status and its end.
 */
final class Http2Line extends Line {
  private static final int FRAME_HEAD = 9;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int GOAWAY = 7;
  private static final int WINDOW_UPDATE = 8;
  private static final int END_STREAM = 1;
  private static final int PADDED = 8;
  private static final int PRIORITY = 0x20;
  private static final int ACK = 1;
  private static final int HEADERS_WHOLE = 4 | END_STREAM;
  private static final int INDEXED_STATUS_200 = 0x88;
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** Of the connection: given at the start, and again when half of it was used. */
  private static final int WINDOW = 1 << 30;

  private final byte[] block;
  private final int[] streams;
  private final long[] askedAt;
  private int next = 1;
  private int unacknowledged;

  Http2Line(URI uri, String path, int width) {
    super(width, 200);
    this.block = block(uri, path);
    this.streams = new int[width];
    this.askedAt = new long[width];
  }

  /** The header block: method GET, scheme, path and authority, none of them to be remembered. */
  private static byte[] block(URI uri, String path) {
    ByteBuf block = Unpooled.buffer();
    block.writeByte(0x82).writeByte(uri.getScheme().equals("https") ? 0x87 : 0x86);
    literal(block, 4, path);
    literal(block, 1, uri.getAuthority());
    return Arrays.copyOf(block.array(), block.readableBytes());
  }

  private static void literal(ByteBuf block, int name, String value) {
    block.writeByte(name).writeByte(value.length()); // below 127, as paths here are
    block.writeCharSequence(value, StandardCharsets.US_ASCII);
  }

  @Override
  public void channelActive(ChannelHandlerContext to) {
    to.write(Unpooled.wrappedBuffer(PREFACE));
    to.write(frame(to, SETTINGS, 0, 0, 0));
    to.writeAndFlush(frame(to, WINDOW_UPDATE, 0, 0, 4).writeInt(WINDOW));
  }

  private static ByteBuf frame(
      ChannelHandlerContext to, int type, int flags, int stream, int length) {
    return to.alloc()
        .buffer(FRAME_HEAD + length)
        .writeMedium(length)
        .writeByte(type)
        .writeByte(flags)
        .writeInt(stream);
  }

  @Override
  void ask(ChannelHandlerContext to) {
    int place = place(0);
    streams[place] = next;
    askedAt[place] = System.nanoTime();
    to.write(
        frame(to, HEADERS, HEADERS_WHOLE, next, block.length).writeBytes(block), to.voidPromise());
    next += 2;
  }

  private int place(int stream) {
    for (int i = 0; i < streams.length; i++) {
      if (streams[i] == stream) {
        return i;
      }
    }
    throw new IllegalStateException("an answer on stream " + stream + ", which asked nothing");
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) throws IOException {
    ByteBuf frame = (ByteBuf) message;
    try {
      read(from, frame);
    } finally {
      frame.release();
    }
  }

  private void read(ChannelHandlerContext from, ByteBuf frame) throws IOException {
    int length = frame.readUnsignedMedium();
    int type = frame.readUnsignedByte();
    int flags = frame.readUnsignedByte();
    int stream = frame.readInt();
    boolean acknowledged = (flags & ACK) != 0;
    switch (type) {
      case HEADERS -> {
        frame.skipBytes((flags & PADDED) / PADDED + ((flags & PRIORITY) == 0 ? 0 : 5));
        int first = first(frame);
        if (first != INDEXED_STATUS_200) {
          throw new IOException(
              "an answer that begins with 0x%02x (expected: 0x88, which is 200)".formatted(first));
        }
        ended(stream, flags);
      }
      case DATA -> {
        unacknowledged += length;
        if (unacknowledged > WINDOW / 2) {
          from.write(frame(from, WINDOW_UPDATE, 0, 0, 4).writeInt(unacknowledged));
          unacknowledged = 0;
        }
        ended(stream, flags);
      }
      case SETTINGS -> {
        if (!acknowledged) {
          from.write(frame(from, SETTINGS, ACK, 0, 0));
        }
      }
      case PING -> {
        if (!acknowledged) {
          from.write(frame(from, PING, ACK, 0, length).writeBytes(frame, length));
        }
      }
      case RST_STREAM, GOAWAY ->
          throw new IOException("HTTP/2: frame of type " + type + " (expected: an answer)");
      default -> {
        // Windows are wider than what is sent here.
      }
    }
  }

  /** Of a header block, after a new size of its table. */
  private static int first(ByteBuf block) {
    int first = block.readUnsignedByte();
    while ((first & 0xe0) == 0x20) {
      if ((first & 0x1f) == 0x1f) {
        while ((block.readByte() & 0x80) != 0) {
          // The rest of a number.
        }
      }
      first = block.readUnsignedByte();
    }
    return first;
  }

  private void ended(int stream, int flags) {
    if ((flags & END_STREAM) != 0) {
      int place = place(stream);
      streams[place] = 0;
      answered(askedAt[place], 200);
    }
  }
}
