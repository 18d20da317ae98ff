package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A deployment whose requests run until a test lets them go: each connects to the test's gate, says
 * its name, and answers when the gate sends a byte.
 */
public final class GatedApplication {
  private GatedApplication() {}

  /** Builds it; {@code args.fail} says in which way it is to fail instead. */
  public static Application build(Map<String, Object> args) {
    Object fail = args.get("fail");
    if ("builder".equals(fail)) {
      throw new IllegalStateException("the builder was told to fail");
    }
    return Application.of(
        Deployment.of(
            "gated",
            replica -> {
              if ("constructor".equals(fail)) {
                throw new IllegalStateException("the constructor was told to fail");
              }
              return new Gated();
            }));
  }

  /**
   * Settles when let go, and not before: the one thing it does on its own thread, waiting, an
   * interrupt does not end. A socket read there would end on a virtual thread (JDK 21 and later),
   * whose interrupt closes the socket, and go on on another one.
   */
  private static final class Gated implements BlockingHandler {
    @Override
    public Response handle(Request request, RequestContext context) {
      String port = request.queryParameter("gate");
      String name = request.queryParameter("name");
      if (port == null || name == null) {
        return Response.text("no gate");
      }
      CompletableFuture<Integer> released =
          CompletableFuture.supplyAsync(
              () -> standAt(Integer.parseInt(port), name), task -> new Thread(task).start());
      return Response.text(released.join() < 0 ? "gate gone" : "done " + name);
    }

    private static int standAt(int port, String name) {
      try (Socket gate = new Socket(InetAddress.getLoopbackAddress(), port)) {
        gate.getOutputStream().write((name + "\n").getBytes(StandardCharsets.UTF_8));
        return gate.getInputStream().read();
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }
  }
}
