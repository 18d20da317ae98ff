package dev.berth.admin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminConnections.AdminConnectionLimits;
import dev.berth.config.ServeConfig;
import io.vertx.core.Promise;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sockets are real, and so is the time that ends them: each wait is for what a socket reads. */
@Timeout(60)
class AdminConnectionsIT {
  private static final String HEALTH = "GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  private static final String WAIT = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
  private static final int LONG_MS = 600_000;

  private final List<Socket> sockets = new ArrayList<>();
  private final Queue<RoutingContext> waiting = new ConcurrentLinkedQueue<>();
  private AdminClient admin;

  private void start(int connections, long headMs, int idleMs) {
    AdminRoutes waits = this::mount;
    admin =
        new AdminClient(
            ServeConfig.DEFAULTS,
            meters -> List.of(new HealthRoutes(meters), waits),
            new AdminConnectionLimits(connections, headMs, idleMs));
  }

  private void mount(Router router) {
    router.get("/wait").handler(waiting::add);
    router
        .get("/later")
        .handler(
            context -> {
              Promise<Void> late = Promise.promise();
              context.vertx().setTimer(500, timer -> late.complete());
              late.future().onSuccess(over -> context.response().end("late"));
            });
    router.get("/large").handler(context -> context.response().end("x".repeat(64 << 20)));
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket each : sockets) {
      each.close();
    }
    admin.close();
  }

  private Socket connect(String sent) throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(4096);
    socket.setSoTimeout(20_000);
    sockets.add(socket);
    socket.connect(new java.net.InetSocketAddress("127.0.0.1", admin.port));
    socket.getOutputStream().write(sent.getBytes(UTF_8));
    return socket;
  }

  private static void await(BooleanSupplier met) {
    long until = System.nanoTime() + 20_000_000_000L;
    while (!met.getAsBoolean()) {
      assertThat(System.nanoTime()).isLessThan(until);
    }
  }

  private static boolean isOpen(Socket socket) throws IOException {
    socket.getOutputStream().write(HEALTH.getBytes(UTF_8));
    return line(socket).equals("HTTP/1.1 200 OK");
  }

  /** The first of an answer; its rest is read as well. Empty: the connection has ended. */
  private static String line(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    StringBuilder text = new StringBuilder();
    try {
      for (int c = in.read(); c >= 0; c = in.read()) {
        text.append((char) c);
        if (text.indexOf("\r\n\r\n") >= 0 && in.available() == 0) {
          break;
        }
      }
    } catch (SocketTimeoutException open) {
      throw open;
    } catch (IOException reset) {
      return "";
    }
    return text.toString().lines().findFirst().orElse("");
  }

  @Test
  void longestSilentConnectionGivesWayAtTheLimit() throws Exception {
    start(3, LONG_MS, LONG_MS);
    Socket first = connect("");
    Socket busy = connect(WAIT);
    await(() -> !waiting.isEmpty());
    Socket third = connect("");
    Socket fourth = connect(HEALTH);
    assertThat(line(fourth)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(first)).as("the longest silent").isEmpty();
    assertThat(isOpen(third)).isTrue(); // which makes the fourth the longest silent
    Socket fifth = connect(HEALTH);
    assertThat(line(fifth)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(fourth)).isEmpty();
    assertThat(isOpen(third)).isTrue();
    RoutingContext due = waiting.remove();
    due.vertx().runOnContext(run -> due.response().end("ok"));
    assertThat(line(busy)).as("had a request all the while").isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void newConnectionIsEndedWhenAllOthersHaveRequests() throws Exception {
    start(2, LONG_MS, LONG_MS);
    connect(WAIT);
    connect(WAIT);
    await(() -> waiting.size() == 2);
    assertThat(line(connect(HEALTH))).isEmpty();
    assertThat(waiting).hasSize(2);
  }

  @Test
  void headThatIsNotWholeInTimeEndsItsConnection() throws Exception {
    start(16, 300, LONG_MS);
    Socket served = connect(HEALTH);
    assertThat(line(served)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(connect(""))).isEmpty();
    assertThat(line(connect("GET /-/healthz HT"))).isEmpty();
    assertThat(isOpen(served)).as("may be silent for longer").isTrue();
    Socket later = connect("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertThat(line(later)).as("the server's own time").isEqualTo("HTTP/1.1 200 OK");
  }

  @ParameterizedTest
  @ValueSource(strings = {"G", "GET /-/healthz HTTP/1.1\r\nHost: loc", "\r\n\r\nGET"})
  void laterHeadThatIsNotWholeInTimeEndsItsConnection(String begun) throws Exception {
    start(16, 300, LONG_MS);
    Socket served = connect(HEALTH);
    assertThat(line(served)).isEqualTo("HTTP/1.1 200 OK");
    long began = System.nanoTime();
    served.getOutputStream().write(begun.getBytes(UTF_8));
    assertThat(line(served)).as("ended").isEmpty();
    assertThat(System.nanoTime() - began).isGreaterThan(300_000_000);
    await(() -> admin.get("/metrics").body().contains("berth_admin_connections_ended_total 1.0"));
  }

  @Test
  void laterHeadBesideAnAnswerThatIsDueIsNotLate() throws Exception {
    start(16, 100, LONG_MS);
    String later = "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n";
    Socket pipelined = connect(later + later + "GET /-/healthz HTTP/1.1\r\n");
    assertThat(line(pipelined)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(pipelined)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(pipelined)).as("now its client is late").isEmpty();
  }

  @Test
  void idleTimeoutDoesNotCountTheServersTime() throws Exception {
    start(16, LONG_MS, 100);
    Socket later = connect("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertThat(line(later)).isEqualTo("HTTP/1.1 200 OK");
    assertThat(line(later)).as("then it is idle").isEmpty();
  }

  @Test
  void unreadAnswerIsIdle() throws Exception {
    start(16, LONG_MS, 300);
    connect("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await(() -> admin.get("/metrics").body().contains("berth_admin_connections 1.0\n"));
  }
}
