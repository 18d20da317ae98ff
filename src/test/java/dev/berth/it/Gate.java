package dev.berth.it;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
    String name = line(socket);
    Visitor visitor = new Visitor(name, socket);
    visitors.add(visitor);
    return visitor;
  }

  private static String line(Socket socket) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    int next = socket.getInputStream().read();
    while (next >= 0 && next != '\n') {
      line.write(next);
      next = socket.getInputStream().read();
    }
    return line.toString(StandardCharsets.UTF_8);
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

  /** The next so many requests to reach their handlers, by name. */
  Map<String, Visitor> next(int count) throws IOException {
    Map<String, Visitor> arrived = new HashMap<>();
    for (int i = 0; i < count; i++) {
      Visitor visitor = next();
      arrived.put(visitor.name(), visitor);
    }
    return arrived;
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

    /** Waits for what its handler says next: {@code cancelled}, or nothing when it has left. */
    String says() throws IOException {
      return line(socket);
    }
  }
}
