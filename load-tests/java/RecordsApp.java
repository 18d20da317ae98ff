import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * Writes each request down before it answers: a line with the header {@code X-Id} in {@code
 * executions-PID} of the folder given. Waits {@code ?ms=} milliseconds on no thread.
 */
public final class RecordsApp {

  private RecordsApp() {}

  /** Of {@code folder}; each replica has {@code slots}. */
  public static Application build(Map<String, Object> args) {
    Path folder = Path.of(String.valueOf(args.get("folder")));
    int slots = ((Number) args.get("slots")).intValue();
    return Application.of(
        Deployment.of("records", replica -> handler(folder)).withMaxOngoingRequests(slots));
  }

  private static AsyncHandler handler(Path folder) {
    OutputStream out = open(folder.resolve("executions-" + ProcessHandle.current().pid()));
    return (request, context) -> {
      String id = request.headers().get("X-Id");
      write(out, id + "\n");
      String ms = request.queryParameter("ms");
      return ms == null
          ? Future.succeededFuture(Response.text("done\n"))
          : context
              .after(Duration.ofMillis(Long.parseLong(ms)))
              .map(passed -> Response.text("done\n"));
    };
  }

  private static OutputStream open(Path file) {
    try {
      return new FileOutputStream(file.toFile(), true);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static void write(OutputStream out, String line) {
    try {
      out.write(line.getBytes(StandardCharsets.UTF_8)); // one write: lines of loops do not mix
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}
