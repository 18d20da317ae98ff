package dev.berth.upstream.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The upstream's end of an HTTP/2 connection, frame by frame. */
final class StreamPeer {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RST_STREAM = 3;
  static final int SETTINGS = 4;
  static final int PUSH_PROMISE = 5;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;
  static final int END_STREAM = 1; // and ACK
  static final int END_HEADERS = 4;
  static final int MAX_CONCURRENT_STREAMS = 3;
  static final int INITIAL_WINDOW_SIZE = 4;

  /** A frame as received. */
  record PeerFrame(int type, int flags, int stream, byte[] payload) {
    boolean isLast() {
      return (flags & END_STREAM) != 0;
    }

    int code() {
      return ByteBuffer.wrap(payload, payload.length - 4, 4).getInt();
    }
  }

  final Socket socket;
  private final DataInputStream in;
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
  private final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder();
  boolean acksPings = true;
  int pings; // read

  /** Reads the client's preface. */
  StreamPeer(Socket socket) throws IOException {
    this.socket = socket;
    this.in = new DataInputStream(socket.getInputStream());
    socket.setSoTimeout(20_000);
    socket.setTcpNoDelay(true);
    String preface = new String(in.readNBytes(24), StandardCharsets.US_ASCII);
    if (!preface.equals("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
      throw new IOException("preface: " + preface);
    }
  }

  /**
   * Sends SETTINGS, and acknowledges those of the client.
   *
   * @param pairs identifiers and values
   */
  StreamPeer open(int... pairs) throws IOException {
    settings(pairs);
    send(SETTINGS, END_STREAM, 0);
    return this;
  }

  void settings(int... pairs) throws IOException {
    ByteBuffer payload = ByteBuffer.allocate(pairs.length * 3);
    for (int i = 0; i < pairs.length; i += 2) {
      payload.putShort((short) pairs[i]).putInt(pairs[i + 1]);
    }
    send(SETTINGS, 0, 0, payload.array());
  }

  // --- reading ---

  private PeerFrame readAny() throws IOException {
    int start = in.readInt();
    int flags = in.read();
    int stream = in.readInt();
    return new PeerFrame(start & 0xFF, flags, stream, in.readNBytes(start >>> 8));
  }

  /** Reads up to a frame of one of the types. */
  PeerFrame read(int... types) throws IOException {
    while (true) {
      PeerFrame frame = readAny();
      if (frame.type() == PING && !frame.isLast()) {
        pings++;
        if (acksPings) {
          send(PING, END_STREAM, 0, frame.payload());
        }
      }
      for (int type : types) {
        if (frame.type() == type && !(type == PING && frame.isLast())) {
          return frame;
        }
      }
      if (frame.type() == GOAWAY && frame.code() != 0) {
        throw new IOException("GOAWAY " + frame.code() + new String(frame.payload()));
      }
    }
  }

  Http2Headers head(PeerFrame frame) throws Exception {
    return decoder.decodeHeaders(frame.stream(), Unpooled.wrappedBuffer(frame.payload()));
  }

  /** Reads a body of so many bytes from one stream. */
  String readBody(int bytes) throws IOException {
    StringBuilder body = new StringBuilder();
    while (body.length() < bytes) {
      body.append(new String(read(DATA).payload(), StandardCharsets.ISO_8859_1));
    }
    return body.toString();
  }

  /** Reads to the end of the connection, and returns how it ended. */
  String readEnd() throws IOException {
    try {
      in.readAllBytes();
      return "end";
    } catch (SocketException reset) {
      return "reset";
    }
  }

  // --- writing ---

  void send(int type, int flags, int stream, byte... payload) throws IOException {
    ByteBuffer frame = ByteBuffer.allocate(9 + payload.length);
    frame.putInt(payload.length << 8 | type).put((byte) flags).putInt(stream).put(payload);
    socket.getOutputStream().write(frame.array());
  }

  void sendInts(int type, int stream, int... values) throws IOException {
    ByteBuffer payload = ByteBuffer.allocate(4 * values.length);
    for (int value : values) {
      payload.putInt(value);
    }
    send(type, 0, stream, payload.array());
  }

  /** Encodes fields; a first number is the status. */
  byte[] block(String... fields) throws Exception {
    Http2Headers head = new DefaultHttp2Headers(false);
    List<String> pairs = new ArrayList<>(List.of(fields));
    if (pairs.size() % 2 != 0) {
      head.status(pairs.remove(0));
    }
    for (int i = 0; i < pairs.size(); i += 2) {
      head.add(pairs.get(i), pairs.get(i + 1));
    }
    ByteBuf out = Unpooled.buffer();
    encoder.encodeHeaders(1, head, out);
    byte[] bytes = new byte[out.readableBytes()];
    out.readBytes(bytes);
    return bytes;
  }

  void sendHead(int stream, boolean last, String... fields) throws Exception {
    send(HEADERS, END_HEADERS | (last ? END_STREAM : 0), stream, block(fields));
  }

  void sendData(int stream, boolean last, String text) throws IOException {
    send(DATA, last ? END_STREAM : 0, stream, text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Answers an exchange with a body of two bytes. */
  void ok(int stream) throws Exception {
    sendHead(stream, false, "200", "content-length", "2");
    sendData(stream, true, "ok");
  }
}
