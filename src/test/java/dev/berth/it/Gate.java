package dev.berth.it;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Holds requests of {@code GatedApplication} inside their handler until the test lets them go. */
final class Gate implements AutoCloseable {
  private static final int ARRIVAL_LIMIT_MS = 10_000;

  private final ServerSocket server;
  private final List<Visitor> visitors = new ArrayList<>();

  Gate() throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    server.setSoTimeout(ARRIVAL_LIMIT_MS);
  }

  /** The path of a request that will stand at this gate. */
  String path(String prefix, String name) {
    return prefix + "?gate=" + server.getLocalPort() + "&name=" + name;
  }

  /** Waits for the next request to reach its handler. */
  Visitor next() throws IOException {
    Socket socket = server.accept();
    socket.setSoTimeout(ARRIVAL_LIMIT_MS);
    String name =
        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))
            .readLine();
    Visitor visitor = new Visitor(name, socket);
    visitors.add(visitor);
    return visitor;
  }

  /** Whether nobody arrives for a while. */
  boolean staysEmptyFor(int millis) throws IOException {
    server.setSoTimeout(millis);
    try {
      visitors.add(new Visitor("unexpected", server.accept()));
      return false;
    } catch (SocketTimeoutException nobody) {
      return true;
    } finally {
      server.setSoTimeout(ARRIVAL_LIMIT_MS);
    }
  }

  @Override
  public void close() throws IOException {
    for (Visitor visitor : visitors) {
      visitor.socket.close();
    }
    server.close();
  }

  /** A request inside its handler. */
  record Visitor(String name, Socket socket) {
    /** Lets its handler return. */
    void release() {
      try {
        socket.getOutputStream().write(1);
      } catch (IOException gone) {
        throw new UncheckedIOException(gone);
      }
    }
  }
}
