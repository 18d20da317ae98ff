import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Headers;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes each request down before it works on it: a line {@code ID REPLICA NOW} in {@code
 * executions-PID} of the folder given, where the id is that of the header {@code X-Id} and NOW is
 * how many this replica works on then, this one included. What it does:
 *
 * <ul>
 *   <li>{@code ?ms=20} waits so long on no thread, and sends the body back, or a word when there is
 *       none;
 *   <li>{@code ?events=10&ms=5} streams so many events, so far apart;
 *   <li>{@code ?block=EPOCH_MILLIS&pid=PID} holds the event loop until then, of that process.
 * </ul>
 */
public final class RecordsApp {
  private static final Buffer EVENT = Buffer.buffer("data: 0123456789ab\n\n");

  private RecordsApp() {}

  /** Of {@code folder}; each replica has {@code slots}. */
  public static Application build(Map<String, Object> args) {
    Path folder = Path.of(String.valueOf(args.get("folder")));
    int slots = ((Number) args.get("slots")).intValue();
    return Application.of(
        Deployment.of("records", replica -> handler(folder, replica))
            .withMaxOngoingRequests(slots));
  }

  private static AsyncHandler handler(Path folder, ReplicaContext replica) {
    OutputStream out = open(folder.resolve("executions-" + ProcessHandle.current().pid()));
    AtomicInteger running = new AtomicInteger();
    return (request, context) -> {
      int now = running.incrementAndGet();
      write(out, request.headers().get("X-Id") + " " + replica.replicaId() + " " + now + "\n");
      long until = number(request, "block");
      if (until > 0 && number(request, "pid") == ProcessHandle.current().pid()) {
        block(until);
      }
      int child = (int) number(request, "child");
      if (child > 0) { // calls itself with a head of that size
        Headers large =
            Headers.of("X-Id", request.headers().get("X-Id") + "c", "X-Large", "x".repeat(child));
        return context
            .handle("records")
            .call(Request.get("/records").withHeaders(large))
            .onComplete(done -> running.decrementAndGet());
      }
      Duration wait = Duration.ofMillis(number(request, "ms"));
      long events = number(request, "events");
      if (events == 0) {
        return context
            .after(wait)
            .map(passed -> answer(request))
            .onComplete(done -> running.decrementAndGet());
      }
      AtomicBoolean over = new AtomicBoolean();
      Runnable end = () -> running.addAndGet(over.getAndSet(true) ? 0 : -1);
      context.onCancel(end); // perhaps before it is asked for the stream
      return Future.succeededFuture(
          Response.stream(
              "text/event-stream",
              writer -> stream(context, writer, wait, events).onComplete(done -> end.run())));
    };
  }

  private static long number(Request request, String parameter) {
    String value = request.queryParameter(parameter);
    return value == null ? 0 : Long.parseLong(value);
  }

  private static Response answer(Request request) {
    Buffer body = request.bytes();
    int head = (int) number(request, "head");
    if (head > 0) {
      return Response.text("done\n").withHeader("X-Large", "x".repeat(head));
    }
    return body.length() == 0
        ? Response.text("done\n")
        : Response.of(200, "application/octet-stream", body);
  }

  private static Future<Void> stream(
      RequestContext context, ResponseWriter writer, Duration wait, long events) {
    return writer
        .write(EVENT)
        .compose(written -> events == 1 ? Future.succeededFuture() : context.after(wait))
        .compose(
            passed ->
                events == 1 ? Future.succeededFuture() : stream(context, writer, wait, events - 1));
  }

  private static void block(long untilEpochMillis) {
    long left = untilEpochMillis - System.currentTimeMillis();
    while (left > 0) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(left));
      left = untilEpochMillis - System.currentTimeMillis();
    }
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
