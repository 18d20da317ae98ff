import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The two processes of a row: one serves, the other asks it on command. See {@link Side}. */
final class Pair implements AutoCloseable {
  /** What the kernel keeps of the name of Vert.x' event loops. */
  private static final String LOOP = "vert.x-eventloo";

  private final Process server;
  private final Process asker;
  private final PrintStream orders;
  private final BufferedReader said;
  private final String secured;
  private final List<Path> loops = new ArrayList<>();

  /**
   * What a slice came to.
   *
   * @param micros of processor time that the event loops of both sides took for an answer
   * @param asking of these, on the side that asks
   */
  record Figures(double answers, double micros, double asking, double perSecond) {}

  Pair(Way way, Tls tls) throws IOException {
    server = start(way.name(), tls.name());
    String port = word(server.inputReader(), "port ");
    asker = start(way.name(), tls.name(), port);
    said = asker.inputReader();
    orders = new PrintStream(asker.getOutputStream(), true);
    secured = word(said, "ready ");
    loops.add(loop(asker));
    loops.add(loop(server));
  }

  String secured() {
    return secured;
  }

  Figures slice(int callers, int bytes, long millis) throws IOException {
    long asking = nanos(loops.get(0));
    long serving = nanos(loops.get(1));
    orders.println(callers + " " + bytes + " " + millis);
    String[] figures = word(said, "").split(" ");
    asking = nanos(loops.get(0)) - asking;
    serving = nanos(loops.get(1)) - serving;
    double answers = Double.parseDouble(figures[0]);
    return new Figures(
        answers,
        (asking + serving) / 1e3 / answers,
        asking / 1e3 / answers,
        answers * 1e9 / Long.parseLong(figures[1]));
  }

  @Override
  public void close() {
    asker.destroyForcibly();
    server.destroyForcibly();
  }

  private static Process start(String... arguments) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xms256m",
                "-Xmx256m",
                "-Dcertificates=" + System.getProperty("certificates"),
                "-cp",
                System.getProperty("java.class.path"),
                "Side"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static String word(BufferedReader from, String after) throws IOException {
    for (String line = from.readLine(); line != null; line = from.readLine()) {
      if (line.startsWith(after)) {
        return line.substring(after.length());
      }
    }
    throw new IOException("a side has ended (expected: \"" + after + "…\")");
  }

  private static Path loop(Process process) throws IOException {
    try (DirectoryStream<Path> tasks =
        Files.newDirectoryStream(Path.of("/proc/" + process.pid() + "/task"))) {
      for (Path task : tasks) {
        if (Files.readString(task.resolve("comm")).startsWith(LOOP)) {
          return task.resolve("schedstat");
        }
      }
    }
    throw new IOException("no event loop in process " + process.pid());
  }

  private static long nanos(Path loop) throws IOException {
    String figures = Files.readString(loop);
    return Long.parseLong(figures.substring(0, figures.indexOf(' ')));
  }
}
