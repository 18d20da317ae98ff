import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Runs one load client at a time to its end; ends it when this process is ended before. */
final class ClientProcess {
  private static volatile Process running;

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(ClientProcess::stop, "stop-client"));
  }

  private ClientProcess() {}

  /** What it printed; it must have ended well. */
  static String output(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    running = process;
    try (InputStream from = process.getInputStream()) {
      String output = new String(from.readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + " failed:\n" + output);
      }
      return output;
    } finally {
      running = null;
      process.destroy();
    }
  }

  private static void stop() {
    Process process = running;
    if (process != null) {
      process.destroy();
    }
  }
}
