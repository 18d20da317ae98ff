package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;

/** A server whose handlers wait at a gate: after each test nothing of it is held. */
abstract class GatedServer {
  @AutoClose static Server server; // started by the test class
  private final List<Client> clients = new ArrayList<>();
  Gate gate;

  @BeforeEach
  void open() throws IOException {
    gate = new Gate();
  }

  @AfterEach
  void everythingIsGivenBack() throws IOException {
    for (Client client : clients) {
      client.close();
    }
    gate.close();
    assertAtRest(server);
  }

  /** One that leaves after the test at the latest. */
  Client client() throws IOException {
    Client client = new Client(server.port());
    clients.add(client);
    return client;
  }

  static void awaitQueued(int requests) {
    server.await(
        requests + " queued", () -> server.sum("serve_deployment_queued_queries") == requests);
  }

  /** The next in a handler is this one, and its client has its answer once it is let go. */
  void nextDone(String name, Client client) throws Exception {
    Gate.Visitor next = gate.next();
    assertThat(next.name()).isEqualTo(name);
    next.release();
    assertThat(client.answer().body()).isEqualTo("done " + name);
  }

  /** Every gauge and every ledger is zero, and each ledger adds up. */
  static void assertAtRest(Server server) {
    for (String gauge :
        new String[] {
          "serve_num_ongoing_http_requests",
          "serve_deployment_queued_queries",
          "serve_num_ongoing_requests_at_replicas",
          "serve_reserved_slots_active",
          "serve_replica_processing_queries",
          "serve_zombie_requests",
          "berth_replica_reserved_slots",
          "berth_pending_requests",
        }) {
      // A client may have its answer an instant before the server has counted it.
      server.await(gauge + " 0", () -> server.sum(gauge) == 0);
    }
    JsonArray replicas = ledgers(server);
    assertThat(replicas).isNotEmpty();
    for (int i = 0; i < replicas.size(); i++) {
      JsonObject ledger = replicas.getJsonObject(i);
      assertThat(ledger.getInteger("running")).as(ledger.encode()).isZero();
      assertThat(ledger.getInteger("reserved")).as(ledger.encode()).isZero();
      assertThat(ledger.getLong("granted"))
          .as(ledger.encode())
          .isEqualTo(
              ledger.getLong("completed") + ledger.getLong("released") + ledger.getLong("expired"));
    }
    server.await(
        "audits that are clean",
        () ->
            ledgers(server).stream()
                .allMatch(ledger -> ((JsonObject) ledger).getString("audit").equals("clean")));
  }

  private static JsonArray ledgers(Server server) {
    return new JsonObject(server.admin("/api/v1/ledger")).getJsonArray("replicas");
  }
}
