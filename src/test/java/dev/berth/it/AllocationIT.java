package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a routed request to a handler that does nothing allocates on its event loop, against the
 * figure that is checked in.
 *
 * <p>Bytes are counted and not timed, so other work on the machine does not change them. What
 * changes them is the JIT compiler: they fall as C2 takes over from C1. So the server compiles in
 * the foreground, and what is compiled depends on the requests it has served and not on who gets
 * the cores. The test ends at the first batch that is within the limit, and fails when none was for
 * several times as many requests as were ever needed.
 */
class AllocationIT {
  private static final double ABOVE = 1.05;
  private static final int CONNECTIONS = 16;
  private static final int BATCH = 4_000; // requests
  private static final byte[] REQUEST =
      "GET /no-op HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = "no-op done".getBytes(StandardCharsets.US_ASCII);
  private static final int BATCHES = 25; // the third is at the figure, on 17 and on 25
  private static final String COMPILE_IN_FOREGROUND = "-Xbatch";

  /** Bytes per request by Java version: {@code 17 = 2616.9}; a version between takes the lower. */
  private static final Path FIGURES =
      Path.of("src/test/resources/dev/berth/it/allocation.properties");

  private static final int JAVA = Runtime.version().feature();
  private static final String RENEW =
      "mvn -B verify -Dskip.surefire=true -Dit.test=AllocationIT -Dberth.allocation.write=true";

  @TempDir Path folder;
  private final byte[] answer = new byte[4096];

  @Test
  void aRoutedNoOpAllocatesNoMoreThanIsCheckedIn() throws Exception {
    boolean write = Boolean.getBoolean("berth.allocation.write");
    TreeMap<Integer, Double> figures = figures();
    double checkedIn = figures.floorEntry(JAVA).getValue();
    double limit = write ? 0 : checkedIn * ABOVE;
    double measured = measure(limit);
    String text =
        String.format(
            Locale.ROOT,
            "bytes per routed no-op on Java %d: %.1f (expected: at most %.1f, which is %.1f in %s"
                + " and 5 %% on top; to renew it: %s)",
            JAVA,
            measured,
            checkedIn * ABOVE,
            checkedIn,
            FIGURES,
            RENEW);
    System.out.println(text);
    if (write) {
      figures.put(JAVA, measured);
      write(figures);
    } else {
      assertThat(measured).as(text).isLessThanOrEqualTo(limit);
    }
  }

  /** The least of the batches until one is within the limit, or until there were enough. */
  private double measure(double limit) throws Exception {
    TestJar.in(folder);
    String text =
        """
        applications:
          - name: no-op
            route_prefix: /no-op
            import_path: dev.berth.it.app.AllocationApplication:noOp
            runtime_env: {jars: [app.jar]}
          - name: allocated
            route_prefix: /allocated
            import_path: dev.berth.it.app.AllocationApplication:allocated
            runtime_env: {jars: [app.jar]}
        berth: {event_loops: 1}
        """;
    List<Socket> connections = new ArrayList<>();
    Path file = Files.writeString(folder.resolve("allocation.yaml"), text);
    try (Server server = Server.start(file, COMPILE_IN_FOREGROUND)) {
      for (int i = 0; i < CONNECTIONS; i++) {
        connections.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
      }
      double least = Double.MAX_VALUE;
      for (int batch = 0; least > limit && batch < BATCHES; batch++) {
        long before = allocated(server);
        for (int sent = 0; sent < BATCH; sent += CONNECTIONS) {
          for (Socket connection : connections) {
            connection.getOutputStream().write(REQUEST);
          }
          for (Socket connection : connections) {
            readAnswer(connection.getInputStream());
          }
        }
        least = Math.min(least, (allocated(server) - before) / (double) BATCH);
      }
      return least;
    } finally {
      for (Socket connection : connections) {
        connection.close();
      }
    }
  }

  /** By the event loop that serves, of which there is one. */
  private static long allocated(Server server) throws Exception {
    return Long.parseLong(server.get("/allocated").body());
  }

  private void readAnswer(InputStream in) throws IOException {
    int length = 0;
    while (length < END.length
        || !Arrays.equals(answer, length - END.length, length, END, 0, END.length)) {
      length += Math.max(0, in.read(answer, length, answer.length - length));
      if (length < END.length || answer[9] != '2') {
        throw new IOException("answer: " + new String(answer, 0, length, StandardCharsets.UTF_8));
      }
    }
  }

  private static TreeMap<Integer, Double> figures() throws IOException {
    TreeMap<Integer, Double> figures = new TreeMap<>();
    for (String line : Files.readAllLines(FIGURES, StandardCharsets.UTF_8)) {
      if (!line.startsWith("#")) {
        String[] parts = line.split("=");
        figures.put(Integer.valueOf(parts[0].trim()), Double.valueOf(parts[1].trim()));
      }
    }
    return figures;
  }

  private static void write(TreeMap<Integer, Double> figures) throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add("# Bytes per routed no-op by Java version, held by AllocationIT, which writes this.");
    figures.forEach(
        (java, bytes) -> lines.add(String.format(Locale.ROOT, "%d = %.1f", java, bytes)));
    Files.write(FIGURES, lines);
  }
}
