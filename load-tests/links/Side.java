import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;

/**
 * One of two nodes, with one event loop; it ends when its standard input does.
 *
 * <p>{@code Side WAY TLS} serves and says {@code port N}. {@code Side WAY TLS PORT} asks there: it
 * says {@code ready} and what secures the link; then each line {@code CALLERS BYTES MILLIS} is a
 * slice in which so many callers each ask again when they were answered, and the answer is how many
 * answers came, and in how many nanoseconds.
 */
public final class Side {
  private static final long PATIENCE_SECONDS = 60;

  private Side() {}

  public static void main(String[] args) throws Exception {
    Way way = Way.valueOf(args[0]);
    Tls tls = Tls.valueOf(args[1]);
    Vertx vertx =
        await(
            way.vertx(
                Vertx.builder(),
                new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true),
                tls));
    vertx.exceptionHandler(
        failed -> {
          failed.printStackTrace();
          Runtime.getRuntime().halt(1);
        });
    if (!vertx.isNativeTransportEnabled()) {
      throw new IOException("no native transport", vertx.unavailableNativeTransportCause());
    }
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    if (args.length == 2) {
      System.out.println("port " + await(on(vertx, () -> way.serve(vertx, tls))));
      orders.readLine();
    } else {
      int port = Integer.parseInt(args[2]);
      Asking asking = new Asking();
      Way.Connected connected = await(on(vertx, () -> way.connect(vertx, tls, port, asking)));
      asking.link = connected.link();
      System.out.println("ready " + connected.secured());
      for (String line = orders.readLine(); line != null; line = orders.readLine()) {
        String[] order = line.split(" ");
        System.out.println(
            await(
                on(
                    vertx,
                    () ->
                        asking.slice(
                            Integer.parseInt(order[0]),
                            Integer.parseInt(order[1]),
                            Long.parseLong(order[2])))));
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private static <T> Future<T> on(Vertx vertx, java.util.function.Supplier<Future<T>> step) {
    Context loop = vertx.getOrCreateContext();
    Promise<T> done = Promise.promise();
    loop.runOnContext(task -> step.get().onComplete(done));
    return done.future();
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /** Confined to the event loop. */
  private static final class Asking implements Link.Receiver {
    private Link link;
    private Buffer body = Buffer.buffer();
    private Promise<String> done = Promise.promise();
    private long begun;
    private long length;
    private int open;
    private int answers;

    Future<String> slice(int callers, int bytes, long millis) {
      body = Buffer.buffer(new byte[bytes]);
      done = Promise.promise();
      length = TimeUnit.MILLISECONDS.toNanos(millis);
      open = callers;
      answers = 0;
      begun = System.nanoTime();
      for (int caller = 0; caller < callers; caller++) {
        link.send(caller, body);
      }
      return done.future();
    }

    @Override
    public void received(int id, Buffer answer) {
      if (answer.length() != body.length()) {
        return; // the bus echoes what told the server who asks
      }
      answers++;
      long took = System.nanoTime() - begun;
      if (took < length) {
        link.send(id, body);
      } else if (--open == 0) {
        done.complete(answers + " " + took);
      }
    }
  }
}
