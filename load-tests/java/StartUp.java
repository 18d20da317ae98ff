import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * From the start of a process to its first 200, as a client sees it that asks every millisecond
 * from before there is a server. No agent, and the JVM's own options.
 */
final class StartUp {
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final int TIMEOUT_MILLIS = 10_000;

  private final Servers servers;
  private final Path work;

  StartUp(Servers servers, Path work) {
    this.servers = servers;
    this.work = work;
  }

  /**
   * Of starts in turn.
   *
   * @param millis of what is measured
   * @param base of what it stands beside
   * @param ratio of the two
   * @param equal of the base to itself
   */
  record Ratios(Spread millis, Spread base, Spread ratio, Spread equal) {
    JsonObject json() {
      return millis
          .json()
          .put("base", base.json())
          .put("ratio", ratio.json())
          .put("equal", equal.json());
    }
  }

  /** A command without its port. */
  interface OnPort {
    List<String> command(int port);
  }

  /** {@code java -jar JAR run FILE}, asked for a path. */
  static OnPort berth(Path jar, Path file) {
    return port ->
        List.of(
            Servers.java(),
            "-jar",
            jar.toString(),
            "run",
            file.toString(),
            "--host=127.0.0.1",
            "--port=" + port,
            "--admin-port=0");
  }

  /** A {@link RawServer} that answers with nothing. */
  static OnPort raw(Path jar, Path work) throws IOException {
    Path nothing = Files.write(work.resolve("nothing"), new byte[0]);
    return port ->
        List.of(
            Servers.java(),
            "-Dport=" + port,
            "-cp",
            jar + ":" + work.resolve("classes"),
            "RawServer",
            "reply",
            "2",
            nothing.toString(),
            nothing.toString());
  }

  /** One of each in turn and the base twice, the order reversed each time. */
  Ratios compare(OnPort measured, OnPort base, String path, int times, Progress progress)
      throws IOException {
    double[][] millis = new double[3][times]; // base, measured, base again
    for (int i = 0; i < times; i++) {
      for (int step = 0; step < 3; step++) {
        int which = i % 2 == 0 ? step : 2 - step;
        millis[which][i] = millis(which == 1 ? measured : base, path);
      }
      progress.tell(
          String.format(
              "start: %d/%d, %.0f ms to the first 200, beside it %.0f and %.0f",
              i + 1, times, millis[1][i], millis[0][i], millis[2][i]));
    }
    return new Ratios(
        Spread.of(millis[1]),
        Spread.of(millis[0]),
        ratio(millis[1], millis[0]),
        ratio(millis[2], millis[0]));
  }

  private static Spread ratio(double[] ones, double[] others) {
    double[] ratios = new double[ones.length];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = ones[i] / others[i];
    }
    return Spread.of(ratios);
  }

  /** Milliseconds of one start; the process is ended. */
  private double millis(OnPort what, String path) throws IOException {
    int port = freePort();
    Path log = work.resolve("start.log");
    byte[] request =
        ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    long begun = System.nanoTime();
    Process process = servers.launch(new ArrayList<>(what.command(port)), log);
    try {
      while (!answers(port, request)) {
        if (!process.isAlive() || System.nanoTime() - begun > LIMIT_NANOS) {
          throw new IOException("no 200; the log:\n" + Files.readString(log));
        }
        LockSupport.parkNanos(POLL_NANOS);
      }
      return (System.nanoTime() - begun) / 1e6;
    } finally {
      servers.close();
    }
  }

  private static boolean answers(int port, byte[] request) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.getOutputStream().write(request);
      return new String(line(socket.getInputStream()), StandardCharsets.US_ASCII)
          .startsWith("HTTP/1.1 200");
    } catch (ConnectException notYet) {
      return false;
    }
  }

  private static byte[] line(InputStream from) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = from.read(); next >= 0 && next != '\n'; next = from.read()) {
      line.write(next);
    }
    return line.toByteArray();
  }

  /** A port of the loopback that is free now. */
  static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
