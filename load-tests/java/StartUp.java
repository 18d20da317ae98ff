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
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * From the start of {@code java -jar berth.jar run conf/quickstart.yaml} to the first 200 of {@code
 * /echo}, as a client sees it that asks every millisecond. No agent, and the JVM's own options.
 */
final class StartUp {
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final int TIMEOUT_MILLIS = 10_000;
  private static final byte[] REQUEST =
      "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private final Servers servers;
  private final Path jar;
  private final Path work;

  StartUp(Servers servers, Path jar, Path work) {
    this.servers = servers;
    this.jar = jar;
    this.work = work;
  }

  /** Milliseconds of one start; the process is ended. */
  double millis() throws IOException {
    int port = freePort();
    Path log = work.resolve("start.log");
    long begun = System.nanoTime();
    Process process =
        servers.launch(
            List.of(
                Servers.java(),
                "-jar",
                jar.toString(),
                "run",
                "conf/quickstart.yaml",
                "--host=127.0.0.1",
                "--port=" + port,
                "--admin-port=0"),
            log);
    try {
      while (!answers(port)) {
        if (!process.isAlive() || System.nanoTime() - begun > LIMIT_NANOS) {
          throw new IOException("quickstart does not serve; its log:\n" + Files.readString(log));
        }
        LockSupport.parkNanos(POLL_NANOS);
      }
      return (System.nanoTime() - begun) / 1e6;
    } finally {
      servers.close();
    }
  }

  private static boolean answers(int port) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.getOutputStream().write(REQUEST);
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

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
