package dev.berth.ingress;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** An HTTP/2 client that sends the frames a test wants, the wrong ones too (RFC 9113, 7541). */
public final class RawHttp2 implements Closeable {
  public static final int DATA = 0;
  public static final int HEADERS = 1;
  static final int PRIORITY = 2;
  public static final int RST_STREAM = 3;
  public static final int SETTINGS = 4;
  static final int PING = 6;
  public static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;

  private static final int MAX_FRAME = 16 << 10;

  static final int END_STREAM = 1;
  static final int END_HEADERS = 4;

  private static final int READ_TIMEOUT_MS = 10_000;

  /** One frame as received. */
  public record Frame(int type, int flags, int stream, byte[] payload) {
    /** The error code of RST_STREAM, or of GOAWAY. */
    public int errorCode() {
      return ByteBuffer.wrap(payload).getInt(type == GOAWAY ? 4 : 0);
    }

    public String text() {
      return new String(payload, StandardCharsets.ISO_8859_1);
    }
  }

  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  /** Connects with prior knowledge; settings of the server are not acknowledged. */
  public RawHttp2(int port) throws IOException {
    socket = new Socket("127.0.0.1", port);
    socket.setSoTimeout(READ_TIMEOUT_MS);
    socket.setTcpNoDelay(true);
    in = new DataInputStream(socket.getInputStream());
    out = socket.getOutputStream();
    out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
    frame(SETTINGS, 0, 0, new byte[0]);
  }

  public RawHttp2 frame(int type, int flags, int stream, byte[] payload) throws IOException {
    ByteBuffer frame = ByteBuffer.allocate(9 + payload.length);
    frame.putInt(payload.length << 8 | type).put((byte) flags).putInt(stream).put(payload);
    out.write(frame.array());
    out.flush();
    return this;
  }

  /** A request's head; nothing is compressed. */
  public RawHttp2 headers(int stream, boolean end, String... pairs) throws IOException {
    byte[] block = block(pairs);
    int type = HEADERS;
    int from = 0;
    for (; block.length - from > MAX_FRAME; from += MAX_FRAME) {
      byte[] part = Arrays.copyOfRange(block, from, from + MAX_FRAME);
      frame(type, type == HEADERS && end ? END_STREAM : 0, stream, part);
      type = CONTINUATION;
    }
    int flags = END_HEADERS | (type == HEADERS && end ? END_STREAM : 0);
    return frame(type, flags, stream, Arrays.copyOfRange(block, from, block.length));
  }

  /** A GET without a body. */
  public RawHttp2 get(int stream, String path, String... pairs) throws IOException {
    return headers(stream, true, head("GET", path, pairs));
  }

  public RawHttp2 post(int stream, String path, String... pairs) throws IOException {
    return headers(stream, false, head("POST", path, pairs));
  }

  private static String[] head(String method, String path, String... more) {
    String[] own = {
      ":method", method, ":scheme", "http", ":path", path, ":authority", "test",
    };
    return Stream.of(own, more).flatMap(Stream::of).toArray(String[]::new);
  }

  RawHttp2 reset(int stream, int code) throws IOException {
    return frame(RST_STREAM, 0, stream, ByteBuffer.allocate(4).putInt(code).array());
  }

  /** A header block of literals without indexing. */
  static byte[] block(String... pairs) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (int i = 0; i < pairs.length; i += 2) {
      block.write(0);
      string(block, pairs[i]);
      string(block, pairs[i + 1]);
    }
    return block.toByteArray();
  }

  private static void string(ByteArrayOutputStream block, String text) {
    int length = text.length();
    if (length < 127) {
      block.write(length);
    } else {
      block.write(127);
      int rest = length - 127;
      while (rest >= 128) {
        block.write(rest % 128 | 128);
        rest /= 128;
      }
      block.write(rest);
    }
    block.writeBytes(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** The next frame; null at the end of the connection. */
  @Nullable Frame read() throws IOException {
    int first = in.read();
    if (first < 0) {
      return null;
    }
    int length = first << 16 | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    int flags = in.readUnsignedByte();
    int stream = in.readInt() & 0x7fffffff;
    return new Frame(type, flags, stream, in.readNBytes(length));
  }

  /** The next frame of a type; what comes before is passed over. */
  public Frame next(int type) throws IOException {
    String last = "";
    while (true) {
      Frame frame = read();
      if (frame == null) {
        throw new IOException("closed before a frame of type " + type + last);
      }
      if (frame.type() == GOAWAY) {
        last = ", by GOAWAY " + frame.errorCode() + ": " + frame.text();
      }
      if (frame.type() == type) {
        return frame;
      }
    }
  }

  /** The next frame of a type on a stream. */
  public Frame next(int type, int stream) throws IOException {
    while (true) {
      Frame frame = next(type);
      if (frame.stream() == stream) {
        return frame;
      }
    }
  }

  /** Reads until the server has closed. */
  void readToEnd() throws IOException {
    while (read() != null) {
      // passed over
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
