package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code conf/quickstart.yaml} as the README starts it. */
class QuickstartIT {
  @AutoClose private static Server server;

  @BeforeAll
  static void start() throws IOException {
    server = Server.start(Path.of("conf/quickstart.yaml"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "POST", "PUT", "DELETE"})
  void echoAnswersAnyMethodWithItsBody(String method) throws Exception {
    HttpResponse<String> response =
        server.send(
            server
                .request("/echo")
                .header("content-type", "text/plain")
                .method(method, BodyPublishers.ofString("hello " + method))
                .build());

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo("hello " + method);
    assertThat(response.headers().firstValue("content-type")).contains("text/plain");
    assertThat(response.headers().firstValue("x-request-id")).isPresent();
  }

  @Test
  void echoTakesABodyUpToWhatIsGatheredForAHandlerAndRefusesALargerOne() throws Exception {
    byte[] largest = new byte[4 << 20]; // berth.max_buffered_body_bytes

    byte[] larger = new byte[largest.length + 1];
    String type = "application/octet-stream";

    assertThat(server.send(post("/echo", type, largest)).statusCode()).isEqualTo(200);
    assertThat(server.send(post("/echo", type, larger)).statusCode()).isEqualTo(413);
  }

  @Test
  void streamSendsServerSentEventsOneByOne() throws Exception {
    HttpResponse<Stream<String>> response =
        server.http.send(
            server.request("/stream?n=5&interval_ms=50").build(), BodyHandlers.ofLines());

    assertThat(response.headers().firstValue("content-type")).contains("text/event-stream");
    long began = System.nanoTime();
    List<Long> arrivals = new ArrayList<>();
    List<String> events = new ArrayList<>();
    response
        .body()
        .filter(line -> line.startsWith("data: "))
        .forEach(
            line -> {
              events.add(line);
              arrivals.add(System.nanoTime() - began);
            });
    assertThat(events).hasSize(5).first().isEqualTo("data: {\"event\":0,\"of\":5}");
    // Each is sent when it is there: all at the end would come at once.
    assertThat(arrivals.get(4) - arrivals.get(0)).isGreaterThan(100_000_000L);
  }

  @Test
  void classifyReadsEveryHeldOutDigitAsPngOnBothReplicas() throws Exception {
    Map<Path, CompletableFuture<HttpResponse<String>>> calls = new LinkedHashMap<>();
    for (Path image : images()) { // all at once: more than one replica's slots
      calls.put(
          image,
          server.http.sendAsync(
              post("/classify", "image/png", Files.readAllBytes(image)), BodyHandlers.ofString()));
    }

    int right = 0;
    Set<String> replicas = new HashSet<>();
    for (Map.Entry<Path, CompletableFuture<HttpResponse<String>>> call : calls.entrySet()) {
      HttpResponse<String> response = call.getValue().join();
      assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
      replicas.add(response.headers().firstValue("X-Berth-Replica").orElseThrow());
      right += digit(response) == label(call.getKey()) ? 1 : 0;
    }
    assertThat(right).isGreaterThanOrEqualTo(95);
    assertThat(replicas).hasSize(2);
  }

  @Test
  void classifyReadsPixelsAsJson() throws Exception {
    int right = 0;
    for (Path image : images().subList(0, 20)) {
      HttpResponse<String> response =
          server.send(post("/classify", "application/json", pixels(image).toBuffer().getBytes()));
      assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
      right += digit(response) == label(image) ? 1 : 0;
    }
    assertThat(right).isGreaterThanOrEqualTo(19);
  }

  @Test
  void metricsCountRequestsAndComeToRest() throws Exception {
    double before = server.sum("serve_num_router_requests_total");
    server.get("/echo");

    assertThat(server.sum("serve_num_router_requests_total")).isGreaterThan(before);
    GatedServer.assertAtRest(server);
    double batches = server.sum("berth_metrics_batches_total");
    server.await("another batch", () -> server.sum("berth_metrics_batches_total") > batches);
    assertThat(server.sum("berth_metrics_pushes_failed_total")).isZero();
    assertThat(server.sum("berth_audits_failed_total")).isZero();
  }

  private static HttpRequest post(String path, String contentType, byte[] body) {
    return server
        .request(path)
        .header("content-type", contentType)
        .POST(BodyPublishers.ofByteArray(body))
        .build();
  }

  private static List<Path> images() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/examples/images"))) {
      List<Path> images = files.filter(file -> file.toString().endsWith(".png")).sorted().toList();
      assertThat(images).hasSize(100);
      return images;
    }
  }

  private static int label(Path image) {
    return image.getFileName().toString().charAt(0) - '0';
  }

  private static int digit(HttpResponse<String> response) {
    return new JsonObject(response.body()).getInteger("digit");
  }

  /** The 64 grays of an image, from 0 to 16 as in the data set, row by row. */
  private static JsonArray pixels(Path image) throws IOException {
    BufferedImage picture = ImageIO.read(image.toFile());
    JsonArray pixels = new JsonArray();
    for (int y = 0; y < picture.getHeight(); y++) {
      for (int x = 0; x < picture.getWidth(); x++) {
        pixels.add(Math.round(picture.getRaster().getSample(x, y, 0) * 16 / 255f));
      }
    }
    return pixels;
  }
}
