package dev.berth.it;

import static java.util.stream.Collectors.joining;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One HTTP connection by hand, for what an HTTP client hides: a request sent and not awaited, a
 * client that leaves.
 */
final class Client implements AutoCloseable {
  private static final int READ_LIMIT_MS = 15_000;

  private final Socket socket;

  Client(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(READ_LIMIT_MS);
    socket.setTcpNoDelay(true);
  }

  Client send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.UTF_8));
  }

  Client send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    return this;
  }

  /** One of a body that is sent in such. */
  void chunk(byte[] bytes) throws IOException {
    send(Integer.toHexString(bytes.length) + "\r\n").send(bytes).send("\r\n");
  }

  /** What the server sends, for those that read it by themselves. */
  InputStream in() throws IOException {
    return socket.getInputStream();
  }

  OutputStream out() throws IOException {
    return socket.getOutputStream();
  }

  /**
   * Sends a GET and does not wait.
   *
   * @param headers lines as they are sent
   */
  Client get(String path, String... headers) throws IOException {
    String lines = Stream.of(headers).map(header -> header + "\r\n").collect(joining());
    return send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n");
  }

  /** The client goes, without a word. */
  void leave() throws IOException {
    socket.close();
  }

  /** Reads one answer with a content-length. */
  Answer answer() throws IOException {
    String text = head();
    Answer answer = new Answer(Integer.parseInt(text.substring(9, 12)), text, "");
    String length = answer.header("content-length");
    byte[] body = in().readNBytes(length == null ? 0 : Integer.parseInt(length));
    return new Answer(answer.status(), text, new String(body, StandardCharsets.UTF_8));
  }

  /** The next status line with its headers. */
  String head() throws IOException {
    return readUntil("\r\n\r\n");
  }

  String line() throws IOException {
    return readUntil("\r\n").strip();
  }

  /** Reads up to and including a text, head and framing as they come. */
  String readUntil(String end) throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream read = new ByteArrayOutputStream();
    while (!read.toString(StandardCharsets.UTF_8).endsWith(end)) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("closed after: " + read + " (expected: " + end + ")");
      }
      read.write(next);
    }
    return read.toString(StandardCharsets.UTF_8);
  }

  /** Everything until the server closes the connection. */
  String readToEnd() throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  /** Whether the server has closed the connection, waiting for it to do so. */
  boolean isClosedByServer() throws IOException {
    return socket.getInputStream().read() < 0;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /**
   * @param head status line and headers as received
   */
  record Answer(int status, String head, String body) {
    @Nullable String header(String name) {
      for (String line : head.split("\r\n")) {
        int colon = line.indexOf(':');
        if (colon > 0 && line.substring(0, colon).toLowerCase(Locale.ROOT).equals(name)) {
          return line.substring(colon + 1).strip();
        }
      }
      return null;
    }
  }
}
