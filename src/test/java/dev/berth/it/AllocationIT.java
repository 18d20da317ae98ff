package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes that a request allocates on its event loop, against the figures that are checked in: a
 * routed no-op, a stream that ends in its first tick, an upload of 1 MiB, a refusal of a full
 * deployment, and a typed body.
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
  private static final Pattern LENGTH = Pattern.compile("(?i)content-length: (\\d+)");
  private static final byte[] HEAD_END = "\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final int BATCHES = 25; // the third is at the figure, on 17 and on 25
  private static final String COMPILE_IN_FOREGROUND = "-Xbatch";

  /** Bytes per request: {@code no-op.17 = 2616.9}; a Java version between takes the lower. */
  private static final Path FIGURES =
      Path.of("src/test/resources/dev/berth/it/allocation.properties");

  private static final int JAVA = Runtime.version().feature();
  private static final String RENEW =
      "mvn -B verify -Dskip.surefire=true -Dit.test=AllocationIT -Dberth.allocation.write=true";

  private static final List<Row> ROWS =
      List.of(
          new Row("no-op", "GET /no-op", "", 200, 4_000),
          new Row("one-tick-stream", "GET /stream", "", 200, 1_000),
          new Row("1-mib-in", "POST /upload", "x".repeat(1 << 20), 200, 100),
          new Row("503", "GET /full", "", 503, 4_000),
          new Row("typed-body", "POST /typed", "{\"name\": \"alder\", \"count\": 7}", 200, 2_000));

  @TempDir Path folder;
  private final byte[] response = new byte[1 << 16];

  /** A kind of request, of which {@code batch} are sent between two counts. */
  private record Row(String name, String line, String body, int status, int batch) {
    byte[] request() {
      String head = line + " HTTP/1.1\r\nHost: localhost\r\n";
      String length = body.isEmpty() ? "" : "Content-Length: " + body.length() + "\r\n";
      return (head + length + "\r\n" + body).getBytes(StandardCharsets.US_ASCII);
    }
  }

  @Test
  void aRequestAllocatesNoMoreThanIsCheckedIn() throws Exception {
    boolean write = Boolean.getBoolean("berth.allocation.write");
    TreeMap<String, TreeMap<Integer, Double>> figures = figures();
    List<String> over = new ArrayList<>();
    TestJar.in(folder);
    copyJar(ObjectMapper.class, "databind.jar");
    copyJar(JsonFactory.class, "core.jar");
    copyJar(JsonProperty.class, "annotations.jar");
    Path file = Files.writeString(folder.resolve("allocation.yaml"), configuration());
    try (Server server = Server.start(file, COMPILE_IN_FOREGROUND);
        Socket slot = new Socket(InetAddress.getLoopbackAddress(), server.port());
        Socket queue = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      slot.getOutputStream().write(ROWS.get(3).request()); // /full answers neither
      queue.getOutputStream().write(ROWS.get(3).request());
      for (Row row : ROWS) {
        TreeMap<Integer, Double> ofRow = figures.computeIfAbsent(row.name, none -> new TreeMap<>());
        Map.Entry<Integer, Double> checkedIn = ofRow.floorEntry(JAVA);
        double limit = write || checkedIn == null ? 0 : checkedIn.getValue() * ABOVE;
        double measured = measure(server, row, limit);
        String text =
            String.format(
                Locale.ROOT,
                "bytes per request of %s on Java %d: %.1f (expected: at most %.1f, which is 5 %%"
                    + " above %s; to renew it: %s)",
                row.name,
                JAVA,
                measured,
                limit,
                FIGURES,
                RENEW);
        System.out.println(text);
        ofRow.put(JAVA, measured);
        if (!write && measured > limit) {
          over.add(text);
        }
      }
    }
    if (write) {
      write(figures);
    }
    assertThat(over).isEmpty();
  }

  /** Copies the jar of a class, which the typed handler needs among those of its application. */
  private void copyJar(Class<?> type, String name) throws Exception {
    Path jar = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    Files.copy(jar, folder.resolve(name));
  }

  private static String configuration() {
    StringBuilder text = new StringBuilder("applications:\n");
    for (String name : List.of("noOp", "allocated", "stream", "upload", "full", "typed")) {
      text.append(
          """
            - name: %1$s
              route_prefix: /%2$s
              import_path: dev.berth.it.app.AllocationApplication:%1$s
              runtime_env: {jars: [app.jar, databind.jar, core.jar, annotations.jar]}
          """
              .formatted(name, name.equals("noOp") ? "no-op" : name));
    }
    String queue = "    deployments: [{name: full, max_queued_requests: 1}]\n";
    int full = text.indexOf("  - name: typed");
    return text.insert(full, queue).append("berth: {event_loops: 1}\n").toString();
  }

  /** The least of the batches until one is within the limit, or until there were enough. */
  private double measure(Server server, Row row, double limit) throws Exception {
    byte[] request = row.request();
    List<Socket> connections = new ArrayList<>();
    try {
      for (int i = 0; i < CONNECTIONS; i++) {
        connections.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
      }
      double least = Double.MAX_VALUE;
      for (int batch = 0; least > limit && batch < BATCHES; batch++) {
        long before = allocated(server);
        int sent = 0;
        for (; sent < row.batch; sent += CONNECTIONS) {
          for (Socket connection : connections) {
            connection.getOutputStream().write(request);
          }
          for (Socket connection : connections) {
            readResponse(connection.getInputStream(), row.status);
          }
        }
        least = Math.min(least, (allocated(server) - before) / (double) sent);
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

  /** Reads one response, whose length the server declares. */
  private void readResponse(InputStream in, int status) throws IOException {
    int read = 0;
    int end = -1;
    while (end < 0 || read < end) {
      int more = in.read(response, read, response.length - read);
      if (more < 0) {
        throw new IOException("closed after " + text(read));
      }
      read += more;
      int head = end < 0 ? headLength(read) : -1;
      if (head >= 0) {
        Matcher declared = LENGTH.matcher(text(head));
        if (!text(head).startsWith("HTTP/1.1 " + status) || !declared.find()) {
          throw new IOException(text(read));
        }
        end = head + Integer.parseInt(declared.group(1));
      }
    }
  }

  private int headLength(int read) {
    for (int i = HEAD_END.length; i <= read; i++) {
      if (Arrays.equals(response, i - HEAD_END.length, i, HEAD_END, 0, HEAD_END.length)) {
        return i;
      }
    }
    return -1;
  }

  private String text(int length) {
    return new String(response, 0, length, StandardCharsets.US_ASCII);
  }

  private static TreeMap<String, TreeMap<Integer, Double>> figures() throws IOException {
    TreeMap<String, TreeMap<Integer, Double>> figures = new TreeMap<>();
    for (String line : Files.readAllLines(FIGURES, StandardCharsets.UTF_8)) {
      if (!line.startsWith("#")) {
        String[] parts = line.split("[.=]", 3);
        figures
            .computeIfAbsent(parts[0].trim(), none -> new TreeMap<>())
            .put(Integer.valueOf(parts[1].trim()), Double.valueOf(parts[2].trim()));
      }
    }
    return figures;
  }

  private static void write(TreeMap<String, TreeMap<Integer, Double>> figures) throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add("# Bytes per request and Java version, held by AllocationIT, which writes this.");
    figures.forEach(
        (row, versions) ->
            versions.forEach(
                (java, bytes) ->
                    lines.add(String.format(Locale.ROOT, "%s.%d = %.1f", row, java, bytes))));
    Files.write(FIGURES, lines);
  }
}
