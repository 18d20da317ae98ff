package dev.berth.admin.live;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Client that reads the events of a live feed, when its test reads them. */
public final class FeedClient implements AutoCloseable {
  private final Socket socket = new Socket();
  private final BufferedReader lines;

  /**
   * @param query of the request, after {@code topics=}
   */
  public FeedClient(int port, String query) throws IOException {
    socket.setReceiveBufferSize(64 << 10); // else the kernel takes megabytes for a slow client
    socket.connect(new InetSocketAddress("127.0.0.1", port));
    socket.setSoTimeout(20_000);
    String request = "GET /api/v1/live?topics=" + query + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
    lines =
        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Returns the next event: its name and data; {@code end} after the last one. */
  public String next() throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith("event: ")) {
        return line + " " + lines.readLine();
      }
    }
    return "end";
  }

  /** Reads events until one contains a text, and returns it. */
  public String until(String text) throws IOException {
    for (String event = next(); !event.equals("end"); event = next()) {
      if (event.contains(text)) {
        return event;
      }
    }
    throw new IOException("the feed ended before " + text);
  }

  boolean isConnected() {
    return socket.isConnected();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
