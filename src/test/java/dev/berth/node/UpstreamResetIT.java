package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.replica.Replica;
import io.vertx.core.Future;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The reset of connections to an upstream that ignores the end of its client. */
@Timeout(60)
class UpstreamResetIT {
  private ServerSocket server;
  private TestNode node;
  private Socket connection; // with half a response

  @BeforeEach
  void begin() throws Exception {
    server = new ServerSocket(0, 9, InetAddress.getByName("127.0.0.1"));
    node =
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            applications:
            - name: models
              route_prefix: /models
              import_path: berth:proxy
              deployments:
              - name: d
                graceful_shutdown_timeout_s: 0.1
                berth:
                  cancel_grace_s: 50
                  upstreams:
                  - {url: 'http://127.0.0.1:%d', max_ongoing_requests: 1, orphan_s: 2}
            berth: {event_loops: 2, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 20}
            """
                .formatted(server.getLocalPort()));
    server.accept().close(); // the probe
  }

  @AfterEach
  void close() throws Exception {
    node.close();
    server.close();
  }

  private <T> T onControlLoop(Callable<Future<T>> step) throws Exception {
    return TestNode.await(node.node.control.call(step));
  }

  private InstanceReplicas replicas() {
    return node.node.running().host.replicas;
  }

  private Replica replica() throws Exception {
    return onControlLoop(
        () -> Future.succeededFuture(replicas().hosted.values().iterator().next().replica));
  }

  /** Sends a request, whose response does not end. */
  private void stream() throws IOException {
    node.getAsync("/models/x");
    connection = server.accept();
    BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream()));
    while (!in.readLine().isEmpty()) {}
    write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
  }

  private void write(String text) throws IOException {
    OutputStream out = connection.getOutputStream();
    out.write(text.getBytes());
  }

  private void assertReset() {
    assertThatThrownBy(
            () -> {
              write(" ");
              write(" ");
            })
        .isInstanceOf(IOException.class);
  }

  @Test
  void slotOfAResetRequestIsNotFreeBeforeTheUpstreamMustHaveStopped() throws Exception {
    Replica replica = replica();
    stream();
    TestNode.until(() -> replica.slots().running() == 1, () -> "running");
    long begin = System.nanoTime();

    onControlLoop(
        () -> {
          replica.kill();
          return replica.gate.reset();
        });

    assertReset();
    assertThat(replica.slots().running()).isOne();
    TestNode.until(() -> replica.slots().running() == 0, () -> "slots: " + replica.slots());
    assertThat(System.nanoTime() - begin).isGreaterThan(1_900_000_000L);
  }

  @Test
  void endOfTheInstanceWithALongStreamResetsItAtTheEndOfTheGrace() throws Exception {
    stream();
    long begin = System.nanoTime();
    node.close();

    assertReset();
    assertThat(System.nanoTime() - begin)
        .as("not after cancel_grace_s")
        .isLessThan(15_000_000_000L);
  }
}
