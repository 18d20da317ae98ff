package dev.berth.ingress;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A client that says exactly what a test wants, byte by byte. */
final class RawClient implements Closeable {
  private static final int READ_TIMEOUT_MS = 10_000;

  private final Socket socket;

  RawClient(int port) throws IOException {
    socket = new Socket("127.0.0.1", port);
    socket.setSoTimeout(READ_TIMEOUT_MS);
  }

  RawClient send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    socket.getOutputStream().flush();
    return this;
  }

  /** A GET without a body, with these lines of its head; the connection stays open. */
  RawClient get(String path, String... fields) throws IOException {
    return request("GET", path, fields);
  }

  RawClient head(String path, String... fields) throws IOException {
    return request("HEAD", path, fields);
  }

  /** Its head alone. */
  RawClient post(String path, String... fields) throws IOException {
    return request("POST", path, fields);
  }

  private RawClient request(String method, String path, String... fields) throws IOException {
    String lines = Stream.of(fields).map(field -> field + "\r\n").collect(Collectors.joining());
    return send(method + " " + path + " HTTP/1.1\r\nHost: test\r\n" + lines + "\r\n");
  }

  /** Reads up to and including a text. */
  String readUntil(String end) throws IOException {
    ByteArrayOutputStream read = new ByteArrayOutputStream();
    InputStream in = socket.getInputStream();
    while (true) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("closed after: " + read.toString(StandardCharsets.ISO_8859_1));
      }
      read.write(next);
      String text = read.toString(StandardCharsets.ISO_8859_1);
      if (text.endsWith(end)) {
        return text;
      }
    }
  }

  /** The status line and the headers. */
  String readHead() throws IOException {
    return readUntil("\r\n\r\n");
  }

  /** Everything until the server closes the connection. */
  String readToEnd() throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  String read(int bytes) throws IOException {
    return new String(socket.getInputStream().readNBytes(bytes), StandardCharsets.ISO_8859_1);
  }

  /** Sends no more, and goes on reading. */
  void shutDownOutput() throws IOException {
    socket.shutdownOutput();
  }

  /** Leaves with a reset instead of an end. */
  void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
