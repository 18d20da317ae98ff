package dev.berth.it.app;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A request that stands at a test's gate without blocking its loop: it says its name there, says
 * {@code cancelled} when it is cancelled, and ends when the gate sends a byte.
 */
final class AtGate {
  private final Promise<String> over = Promise.promise();
  private @Nullable Socket socket;
  private boolean cancelled;

  private AtGate() {}

  /** Stands at the gate that the query names. */
  static Future<String> stand(Request request, RequestContext context, String as) {
    String port = request.queryParameter("gate");
    if (port == null) {
      return Future.succeededFuture("no gate");
    }
    AtGate standing = new AtGate();
    Thread thread = new Thread(() -> standing.run(Integer.parseInt(port), as), "at the gate");
    thread.setDaemon(true);
    thread.start();
    context.onCancel(standing::cancel);
    return standing.over.future();
  }

  /** Answers when it may go. */
  static Future<Response> answer(Request request, RequestContext context, String as) {
    return stand(request, context, as).map(Response::text);
  }

  /** Answers at once with a stream: {@code before}, and {@code after} when it may go. */
  static Future<Response> stream(Request request, RequestContext context, String as) {
    return Future.succeededFuture(
        Response.stream(
            "text/plain",
            writer ->
                writer
                    .write("before at " + context.replicaId() + ";")
                    .compose(written -> stand(request, context, as))
                    .compose(released -> writer.write("after"))));
  }

  private void run(int port, String name) {
    try (Socket gate = new Socket(InetAddress.getLoopbackAddress(), port)) {
      synchronized (this) {
        socket = gate;
        say(name);
        if (cancelled) {
          say("cancelled");
        }
      }
      int released = gate.getInputStream().read();
      over.tryComplete(released < 0 ? "gate gone" : "done " + name);
    } catch (IOException gone) {
      over.tryFail(gone);
    }
  }

  private synchronized void cancel() {
    cancelled = true;
    try {
      if (socket != null) {
        say("cancelled");
      }
    } catch (IOException gone) {
      over.tryFail(gone);
    }
    over.tryFail(new BerthException.Cancelled("told to leave the gate"));
  }

  private void say(String word) throws IOException {
    socket.getOutputStream().write((word + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
