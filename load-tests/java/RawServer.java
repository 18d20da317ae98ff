import io.vertx.core.DeploymentOptions;
import io.vertx.core.VerticleBase;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The least a Vert.x server does to return given bytes: the limit to compare with.
 *
 * <p>Arguments: port, event loops, a file of header lines ({@code name: value}), a file of the
 * body. One server on each event loop, on the native transport when there is one.
 */
public final class RawServer {
  private record Header(CharSequence name, CharSequence value) {}

  private RawServer() {}

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    int loops = Integer.parseInt(args[1]);
    List<Header> headers = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(args[2]))) {
      int colon = line.indexOf(':');
      headers.add(
          new Header(
              io.vertx.core.http.HttpHeaders.createOptimized(line.substring(0, colon)),
              io.vertx.core.http.HttpHeaders.createOptimized(line.substring(colon + 1).trim())));
    }
    Buffer body = Buffer.buffer(Files.readAllBytes(Path.of(args[3])));
    Vertx vertx =
        Vertx.vertx(new VertxOptions().setEventLoopPoolSize(loops).setPreferNativeTransport(true));
    vertx
        .deployVerticle(
            () -> new Serving(port, headers, body), new DeploymentOptions().setInstances(loops))
        .toCompletionStage()
        .toCompletableFuture()
        .get();
  }

  private static final class Serving extends VerticleBase {
    private final int port;
    private final List<Header> headers;
    private final Buffer body;

    Serving(int port, List<Header> headers, Buffer body) {
      this.port = port;
      this.headers = headers;
      this.body = body;
    }

    @Override
    public Future<?> start() {
      return vertx
          .createHttpServer(new HttpServerOptions().setHost("127.0.0.1").setPort(port))
          .requestHandler(
              request -> {
                HttpServerResponse response = request.response();
                for (Header header : headers) {
                  response.putHeader(header.name, header.value);
                }
                response.end(body);
              })
          .listen();
    }
  }
}
