import io.netty.util.AsciiString;
import io.vertx.core.Context;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.ext.web.Router;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The least a Vert.x server does to return given bytes: the limit to compare with.
 *
 * <p>Arguments: kind, event loops, a file of header lines ({@code name: value}), a file of the
 * body, and for TLS the PEM files of a certificate and its key, and of who signs clients. One
 * server on each event loop, on the native transport when there is one, and BoringSSL. The kinds
 * are {@code reply}, which plays back headers and body; {@code web}, which does so behind a router
 * of vertx-web with one route; {@code echo}, which plays back the headers and answers with the body
 * it was sent; {@code upload} and {@code upload-streamed}, which answer as {@code reply} does when
 * the body of the request has come, whole or piece by piece; and {@code streams}, which plays back
 * the headers and writes the events of {@link Streams}: those of one tick joined to one chunk, as
 * Berth joins them, or each by itself. The system property {@code port} is the port; without one it
 * is any free one.
 *
 * <p>A header {@value #REQUEST_ID} is not played back: its number is counted up with each response,
 * as Berth's is. HPACK would send a constant value as one byte.
 */
public final class RawServer {
  private record Header(CharSequence name, CharSequence value) {}

  static final String REQUEST_ID = "x-request-id";
  private static final CharSequence ID_NAME = HttpHeaders.createOptimized(REQUEST_ID);

  private RawServer() {}

  /** Request ids {@code PREFIX-NUMBER}, the number in hexadecimal digits. Confined to one loop. */
  static final class Ids {
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final byte[] text;
    private final int prefix;
    private long number;

    /**
     * @param first the id before the first of these
     */
    Ids(String first) {
      prefix = first.indexOf('-') + 1;
      number = Long.parseLong(first.substring(prefix), 16);
      text = Arrays.copyOf(first.getBytes(StandardCharsets.US_ASCII), prefix + 16);
    }

    AsciiString next() {
      long rest = ++number;
      int end = prefix + (Long.SIZE - Long.numberOfLeadingZeros(rest) + 3) / 4;
      for (int i = end - 1; i >= prefix; i--) {
        text[i] = DIGITS[(int) rest & 0xf];
        rest >>>= 4;
      }
      return new AsciiString(text, 0, end, true);
    }
  }

  public static void main(String[] args) throws Exception {
    String kind = args[0];
    int loops = Integer.parseInt(args[1]);
    List<Header> headers = new ArrayList<>();
    String requestId = null;
    for (String line : Files.readAllLines(Path.of(args[2]))) {
      int colon = line.indexOf(':');
      String name = line.substring(0, colon);
      String value = line.substring(colon + 1).trim();
      if (name.equalsIgnoreCase(REQUEST_ID)) {
        requestId = value;
      } else {
        headers.add(
            new Header(HttpHeaders.createOptimized(name), HttpHeaders.createOptimized(value)));
      }
    }
    String firstId = requestId;
    Buffer body = Buffer.buffer(Files.readAllBytes(Path.of(args[3])));
    // Below zero, a port is any free one, and the same for all that name it.
    HttpServerOptions options =
        new HttpServerOptions()
            .setHost("127.0.0.1")
            .setPort(Integer.getInteger("port", -1))
            .setAcceptBacklog(4096); // as Berth has it
    if (args.length > 4) {
      options
          .setSsl(true)
          .setUseAlpn(true)
          .setSslEngineOptions(new OpenSSLEngineOptions())
          .setKeyCertOptions(new PemKeyCertOptions().setCertPath(args[4]).setKeyPath(args[5]));
    }
    if (args.length > 6) {
      options
          .setClientAuth(ClientAuth.REQUIRED)
          .setTrustOptions(new PemTrustOptions().addCertPath(args[6]));
    }
    Vertx vertx =
        Vertx.vertx(new VertxOptions().setEventLoopPoolSize(loops).setPreferNativeTransport(true));
    AtomicInteger made = new AtomicInteger();
    vertx
        .deployVerticle(
            () -> new Serving(made.getAndIncrement(), kind, options, headers, firstId, body),
            new DeploymentOptions().setInstances(loops))
        .toCompletionStage()
        .toCompletableFuture()
        .get();
    say("started");
  }

  /** One piece, so that a line of the log does not come between. */
  private static void say(String line) {
    System.out.print(line + "\n");
  }

  private static final class Serving extends VerticleBase {
    private final int number;
    private final String kind;
    private final HttpServerOptions options;
    private final List<Header> headers;
    private final Ids ids; // null: its headers have none
    private final Buffer body;
    private final Buffer event = Buffer.buffer(Streams.EVENT);

    Serving(
        int number,
        String kind,
        HttpServerOptions options,
        List<Header> headers,
        String requestId,
        Buffer body) {
      this.number = number;
      this.kind = kind;
      this.options = options;
      this.headers = headers;
      this.ids = requestId == null ? null : new Ids(requestId);
      this.body = body;
    }

    @Override
    public Future<?> start() {
      return vertx
          .createHttpServer(options)
          .requestHandler(handler())
          .listen()
          .onSuccess(
              server ->
                  say(
                      "loop %d listens on 127.0.0.1:%d, native transport: %s"
                          .formatted(
                              number, server.actualPort(), vertx.isNativeTransportEnabled())));
    }

    private Handler<HttpServerRequest> handler() {
      switch (kind) {
        case "reply":
          return request -> reply(request.response());
        case "web":
          Router router = Router.router(vertx);
          router.get("/").handler(routed -> reply(routed.response()));
          return router;
        case "echo":
          return request ->
              request
                  .body()
                  .onSuccess(
                      sent -> {
                        putHeaders(request.response());
                        request.response().end(sent);
                      });
        case "upload":
          return request -> request.body().onSuccess(whole -> reply(request.response()));
        case "upload-streamed":
          return this::count;
        case "streams":
          return this::stream;
        default:
          throw new IllegalArgumentException(
              "kind: "
                  + kind
                  + " (expected: reply, web, echo, upload, upload-streamed or streams)");
      }
    }

    private void reply(HttpServerResponse response) {
      putHeaders(response);
      response.end(body);
    }

    private void count(HttpServerRequest request) {
      long[] length = new long[1];
      request
          .handler(piece -> length[0] += piece.length())
          .endHandler(
              end -> {
                putHeaders(request.response());
                request.response().end(String.valueOf(length[0]));
              });
    }

    private void stream(HttpServerRequest request) {
      HttpServerResponse response = request.response();
      putHeaders(response);
      response.setChunked(true);
      if (request.path().equals("/hop")) {
        next(context, response, Streams.EVENTS);
      } else {
        Buffer joined = Buffer.buffer(Streams.EVENTS * event.length());
        for (int i = 0; i < Streams.EVENTS; i++) {
          joined.appendBuffer(event);
        }
        response.write(joined);
        response.end();
      }
    }

    private void next(Context loop, HttpServerResponse response, int left) {
      response.write(event);
      if (left == 1) {
        response.end();
      } else {
        loop.runOnContext(none -> next(loop, response, left - 1));
      }
    }

    private void putHeaders(HttpServerResponse response) {
      for (Header header : headers) {
        response.putHeader(header.name, header.value);
      }
      if (ids != null) {
        response.putHeader(ID_NAME, ids.next());
      }
    }
  }
}
