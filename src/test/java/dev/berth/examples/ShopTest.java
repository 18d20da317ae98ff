package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.testkit.TestBerth;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ShopTest {
  private final TestBerth berth = TestBerth.start(Shop.build());

  @AfterEach
  void close() {
    berth.assertAtRest();
    berth.close();
  }

  private String get(String target) {
    return berth.text(berth.call(Request.get(target)));
  }

  private Response post(String body) {
    return berth.call(Request.post("/items", Buffer.buffer(body)));
  }

  private int delete(String path) {
    Buffer none = Buffer.buffer();
    return berth.call(Request.of("DELETE", path, null, Headers.empty(), none)).status();
  }

  @Test
  void listIsPagedAndSearched() {
    for (int i = 0; i < 10; i++) {
      post("{\"name\":\"n" + i + "\",\"cents\":1}");
    }
    assertThat(new JsonArray(get("/items"))).hasSize(10);
    assertThat(new JsonArray(get("/items?page=2"))).hasSize(3);
    assertThat(new JsonArray(get("/items?name=fish"))).hasSize(1);
  }

  @Test
  void addedItemIsFoundPricedAndRemoved() {
    Response added = post("{\"name\":\"tea\",\"cents\":300}");
    assertThat(added.status()).isEqualTo(201);
    assertThat(new JsonObject(get("/items/4")).getString("name")).isEqualTo("tea");
    assertThat(get("/items/4/price?count=2")).isEqualTo("{\"cents\":600}");
    assertThat(delete("/items/4")).isEqualTo(204);
    assertThat(delete("/items/4")).isEqualTo(404);
    assertThat(berth.call(Request.get("/items/4/price")).status()).isEqualTo(404);
  }

  @Test
  void invalidItemIsRefusedWithItsProblems() {
    Response refused = post("{\"cents\":\"x\"}");
    assertThat(refused.status()).isEqualTo(400);
    assertThat(new JsonObject(berth.text(refused)).getJsonArray("problems")).hasSize(2);
    assertThat(berth.text(post("{\"name\":\"tea\",\"cents\":0}"))).contains("cents: 0");
  }

  @Test
  void eventsFollowEachOtherAfterADelay() {
    Future<Response> events = berth.handle("shop").call(Request.get("/events"));
    berth.advance(Duration.ofSeconds(1));
    assertThat(berth.text(events.result()))
        .isEqualTo("data: bread\n\ndata: fish\n\ndata: salt\n\n");
  }
}
