package dev.berth.it;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
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

  /**
   * Sends a GET and does not wait.
   *
   * @param headers lines as they are sent
   */
  Client get(String path, String... headers) throws IOException {
    StringBuilder head = new StringBuilder("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n");
    for (String header : headers) {
      head.append(header).append("\r\n");
    }
    socket
        .getOutputStream()
        .write(head.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII));
    return this;
  }

  /** The client goes, without a word. */
  void leave() throws IOException {
    socket.close();
  }

  /** Reads one answer with a content-length. */
  Answer answer() throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    while (!head.toString(StandardCharsets.US_ASCII).endsWith("\r\n\r\n")) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("closed after " + head.size() + " bytes (expected: an answer)");
      }
      head.write(next);
    }
    String text = head.toString(StandardCharsets.US_ASCII);
    Answer answer = new Answer(Integer.parseInt(text.substring(9, 12)), text, "");
    String length = answer.header("content-length");
    byte[] body = in.readNBytes(length == null ? 0 : Integer.parseInt(length));
    return new Answer(answer.status(), text, new String(body, StandardCharsets.UTF_8));
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
