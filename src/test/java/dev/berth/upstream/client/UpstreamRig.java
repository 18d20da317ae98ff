package dev.berth.upstream.client;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.berth.api.Headers;
import dev.berth.ingress.IngressTransport;
import dev.berth.upstream.client.ConnectionOpener.NameLookup;
import dev.berth.upstream.client.UpstreamTarget.ExchangeTimeouts;
import dev.berth.upstream.client.UpstreamTarget.HttpChoice;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A client on its loop, and an upstream that the test plays itself, line by line. */
final class UpstreamRig {
  static final AddressPolicy ANY = new AddressPolicy(false, Set.of(), Set.of());
  static final long GRACE = TimeUnit.MILLISECONDS.toNanos(200);
  static final long LONG = SECONDS.toNanos(20);
  private static final String RESET = "reset";
  private static final String END = "end";

  final Vertx vertx =
      IngressTransport.preferred()
          .builder()
          .with(new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true))
          .build();
  final ContextInternal loop = ((VertxInternal) vertx).createEventLoopContext();
  final ServerSocket server;
  UpstreamClient client;
  HttpVersions versions = HttpVersions.HTTP_1;
  int max = 2;
  volatile boolean leaseEnded;

  UpstreamRig() throws Exception {
    this(new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1")));
  }

  UpstreamRig(ServerSocket server) throws Exception {
    this.server = server;
    server.setSoTimeout(20_000);
    client = new UpstreamClient(loop, target(LONG, LONG), () -> leaseEnded);
  }

  static HttpChoice choice(HttpVersions versions) {
    return new HttpChoice(versions, 64 << 10);
  }

  static ExchangeTimeouts timeouts(long firstByte, long idle) {
    return new ExchangeTimeouts(SECONDS.toNanos(5), firstByte, idle);
  }

  UpstreamTarget target(long firstByte, long idle) {
    return target("127.0.0.1", null, timeouts(firstByte, idle), ANY);
  }

  UpstreamTarget target(
      String host, @Nullable UpstreamTls tls, ExchangeTimeouts timeouts, AddressPolicy policy) {
    return new UpstreamTarget(
        host, server.getLocalPort(), null, tls, timeouts, max, policy, choice(versions));
  }

  void use(UpstreamTarget target) {
    client = new UpstreamClient(loop, target, () -> leaseEnded);
  }

  void use(UpstreamTarget target, NameLookup names) {
    client = new UpstreamClient(loop, target, names, () -> leaseEnded);
  }

  /** Runs a step on the loop, and has its result. */
  <T> T on(Callable<T> step) throws Exception {
    Promise<T> done = Promise.promise();
    loop.runOnContext(
        here -> {
          try {
            done.complete(step.call());
          } catch (Throwable failed) {
            done.fail(failed);
          }
        });
    return done.future().toCompletionStage().toCompletableFuture().get(20, SECONDS);
  }

  /** Runs an action on the loop, and waits for its end. */
  void run(Runnable action) throws Exception {
    on(
        () -> {
          action.run();
          return null;
        });
  }

  RecordedExchange get(String path) throws Exception {
    return send("GET", path, 0, "");
  }

  RecordedExchange send(String method, String path, long length, @Nullable String whole)
      throws Exception {
    UpstreamRequest request =
        new UpstreamRequest(method, path, Headers.of("accept", "text/plain"), length);
    RecordedExchange made = new RecordedExchange();
    made.exchange =
        on(() -> client.send(request, whole == null ? null : Buffer.buffer(whole), made));
    return made;
  }

  /** Sends a GET, and answers it on a connection that stays open. */
  RemotePeer roundTrip(@Nullable RemotePeer on) throws Exception {
    RecordedExchange made = get("/");
    RemotePeer peer = on == null ? accept() : on;
    peer.readHead();
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    made.expect("head 200", "piece ok", END);
    return peer;
  }

  RemotePeer accept() throws IOException {
    return new RemotePeer(server.accept());
  }

  void close() throws Exception {
    server.close();
    vertx.close().toCompletionStage().toCompletableFuture().get(20, SECONDS);
  }

  /** The events of an exchange. */
  static final class RecordedExchange implements ExchangeListener {
    final BlockingQueue<String> events = new LinkedBlockingQueue<>();
    volatile long received;
    @Nullable UpstreamExchange exchange;

    String next() throws InterruptedException {
      String event = events.poll(20, SECONDS);
      return event == null ? "nothing in 20 s" : event;
    }

    /** Returns the next event that does not start with a text. */
    String next(String skipped) throws InterruptedException {
      String event = next();
      while (event.startsWith(skipped)) {
        event = next();
      }
      return event;
    }

    void expect(String... expected) throws InterruptedException {
      for (String each : expected) {
        String event = next();
        if (!event.equals(each)) {
          throw new AssertionError("event: " + event + " (expected: " + each + ")");
        }
      }
    }

    @Override
    public void onHead(int status, Headers headers) {
      events.add("head " + status);
    }

    @Override
    public void onPiece(Buffer piece) {
      received += piece.length();
      if (piece.length() < 1_000) {
        events.add("piece " + piece);
      }
    }

    @Override
    public void onEnd() {
      events.add(END);
    }

    @Override
    public void onFailed(UpstreamFailure failure) {
      events.add("failed " + (failure.notRun() ? "not run: " : "unknown: ") + failure.reason());
    }

    @Override
    public void onCancelled(boolean confirmed) {
      events.add("cancelled " + confirmed);
    }
  }

  /** The upstream's end of a connection. */
  static final class RemotePeer {
    final Socket socket;
    final InputStream in;

    RemotePeer(Socket socket) throws IOException {
      this.socket = socket;
      this.in = socket.getInputStream();
      socket.setSoTimeout(20_000);
      socket.setTcpNoDelay(true);
    }

    /** Reads up to an empty line. */
    String readHead() throws IOException {
      StringBuilder head = new StringBuilder();
      while (head.length() < 4 || !head.substring(head.length() - 4).equals("\r\n\r\n")) {
        head.append(read(1));
      }
      return head.toString();
    }

    String read(int bytes) throws IOException {
      byte[] read = in.readNBytes(bytes);
      if (read.length < bytes) {
        throw new IOException("end after " + read.length + " bytes");
      }
      return new String(read, StandardCharsets.ISO_8859_1);
    }

    void send(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      socket.getOutputStream().flush();
    }

    /** Reads to the end of the connection, and returns how it ended. */
    String readEnd() throws IOException {
      try {
        in.readAllBytes();
        return END;
      } catch (SocketException reset) {
        return RESET;
      }
    }

    /** Closes by a reset. */
    void reset() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }
  }
}
