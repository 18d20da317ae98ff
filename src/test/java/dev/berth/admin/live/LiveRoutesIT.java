package dev.berth.admin.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminClient;
import dev.berth.admin.AdminResponses;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class LiveRoutesIT {
  private static final int MAX_VIEWERS = 8;
  private static final int WORKERS = VertxOptions.DEFAULT_WORKER_POOL_SIZE;

  private final CountDownLatch busy = new CountDownLatch(WORKERS);
  private final CountDownLatch free = new CountDownLatch(1);
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final FakeLiveState state = new FakeLiveState();
  private final AtomicLong skew = new AtomicLong(); // nanoseconds that the test adds to the clock
  private final LiveRoutes routes =
      new LiveRoutes(
          state,
          new FigureHistory(FigureHistory.MAX_BYTES, 0),
          MAX_VIEWERS,
          () -> System.nanoTime() + skew.get(),
          () -> 1_000);

  @AutoClose
  private final AdminClient admin =
      new AdminClient(
          router -> {
            routes.mount(router);
            router
                .get("/busy")
                .handler(
                    context ->
                        AdminResponses.read(context, AdminResponses.JSON, this::waitForFree));
            router
                .get("/api/v1/live")
                .handler(
                    context ->
                        AdminResponses.read(context, AdminResponses.JSON, () -> "forwarded"));
          });

  private String waitForFree() throws InterruptedException {
    busy.countDown();
    free.await();
    return "";
  }

  LiveRoutesIT() {
    routes.show(admin.meters);
  }

  private FeedClient view(String topics) throws IOException {
    return new FeedClient(admin.port, topics);
  }

  @Test
  void feedBeginsWithItsStateAndSendsChanges() throws Exception {
    try (FeedClient viewer = view("overview,deployment:shop%23infer")) {
      assertThat(viewer.next())
          .startsWith("event: hello data: {\"node\":\"node-1\",\"controller\":true,\"why\":null");
      assertThat(viewer.next()).startsWith("event: snapshot data: {\"topic\":\"overview\"");
      assertThat(viewer.next())
          .startsWith("event: snapshot data: {\"topic\":\"deployment:shop#infer\"");
      state.message = "<img onerror=alert(1)>";
      assertThat(viewer.next()).startsWith("event: delta data:").contains("<img onerror=alert(1)>");
    }
  }

  @Test
  void tenThousandViewersLeaveTheOthersTheirConnections() throws Exception {
    List<FeedClient> viewers = new ArrayList<>();
    for (int i = 0; i < MAX_VIEWERS; i++) {
      viewers.add(view("overview"));
      assertThat(viewers.get(i).next()).startsWith("event: hello");
    }
    for (int i = MAX_VIEWERS; i < 10_000; i++) {
      HttpResponse<String> refused = admin.get("/api/v1/live?topics=overview");
      assertThat(refused.statusCode()).isEqualTo(503);
    }
    HttpResponse<String> refused = admin.get("/api/v1/live?topics=overview");
    assertThat(refused.headers().firstValue("retry-after")).hasValue("5");
    assertThat(new JsonObject(refused.body()).getString("code")).isEqualTo("too_many_viewers");
    assertThat(admin.get("/-/healthz").statusCode()).isEqualTo(200);
    assertThat(metric("berth_live_viewers ")).isEqualTo(MAX_VIEWERS);
    assertThat(metric("berth_live_viewers_refused_total ")).isEqualTo(10_001 - MAX_VIEWERS);
    for (FeedClient each : viewers) {
      each.close();
    }
    awaitMetric("berth_live_viewers ", 0);
    try (FeedClient again = view("overview")) {
      assertThat(again.next()).startsWith("event: hello");
    }
  }

  @Test
  void differentTopicsOfAllViewersAreLimited() throws Exception {
    FigureHistory history = new FigureHistory(FigureHistory.MAX_BYTES, 0);
    List<FeedClient> viewers = new ArrayList<>();
    try (AdminClient many =
        new AdminClient(new LiveRoutes(state, history, 64, System::nanoTime, () -> 1_000))) {
      for (int viewer = 0; viewer < LiveFeed.MAX_TOPICS / 8; viewer++) {
        StringBuilder topics = new StringBuilder();
        for (int topic = 0; topic < 8; topic++) {
          topics.append("deployment:a%23").append(viewer).append('-').append(topic).append(',');
        }
        viewers.add(new FeedClient(many.port, topics.substring(0, topics.length() - 1)));
        assertThat(viewers.get(viewer).next()).startsWith("event: hello");
      }
      HttpResponse<String> refused = many.get("/api/v1/live?topics=overview");
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.body()).contains("more than 128 topics");
      viewers.add(new FeedClient(many.port, "deployment:a%230-0"));
      assertThat(viewers.get(viewers.size() - 1).next()).startsWith("event: hello");
      for (FeedClient viewer : viewers) {
        viewer.close();
      }
    }
  }

  private double metric(String name) {
    return admin
        .get("/metrics")
        .body()
        .lines()
        .filter(each -> each.startsWith(name))
        .mapToDouble(each -> Double.parseDouble(each.substring(name.length())))
        .findFirst()
        .orElseThrow();
  }

  private void awaitMetric(String name, double value) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (metric(name) != value) {
      assertThat(System.nanoTime()).as(name).isLessThan(deadline);
    }
  }

  @Test
  void viewerThatNeverReadsIsClosed() throws Exception {
    state.replicas = 20_000; // more than the buffers of two sockets
    try (FeedClient viewer = view("deployment:shop%23infer")) {
      awaitMetric("berth_live_viewers ", 1);
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (metric("berth_live_viewers ") > 0) {
        assertThat(System.nanoTime()).isLessThan(deadline);
        skew.addAndGet(TimeUnit.SECONDS.toNanos(1));
      }
      assertThat(viewer.isConnected()).isTrue();
    }
  }

  @Test
  void headAndWrongParametersOpenNoFeed() {
    assertThat(admin.send("HEAD", "/api/v1/live?topics=overview", null).statusCode())
        .isEqualTo(200);
    for (String query :
        List.of(
            "",
            "?topics=",
            "?topics=other",
            "?topics=overview&x=1",
            "?topics=log&level=loud",
            "?topics=deployment:a")) {
      assertThat(admin.get("/api/v1/live" + query).statusCode()).as(query).isEqualTo(400);
    }
    String many = "overview,requests,traffic,autoscaling,ledger,reservations,nodes,log,upstreams";
    assertThat(admin.get("/api/v1/live?topics=" + many).body()).contains("topics: 9 (expected");
    assertThat(metric("berth_live_viewers ")).isZero();
    assertThat(metric("berth_live_samples_total ")).isZero();
  }

  @Test
  void workerWithAControllerForwardsWithinItsLimit() throws Exception {
    state.elsewhere = true;
    assertThat(admin.get("/api/v1/live?topics=overview").body()).isEqualTo("forwarded");
    for (int i = 0; i < 3 * LiveRoutes.MAX_FORWARDED; i++) { // each ends before the next
      assertThat(admin.get("/api/v1/live?topics=overview").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void viewersOfAWorkerEndWhenItsControllerIsBack() throws Exception {
    state.missing = "controller: none";
    try (FeedClient viewer = view("overview")) {
      assertThat(viewer.next()).contains("\"controller\":false,\"why\":\"controller: none\"");
      assertThat(viewer.next()).startsWith("event: snapshot");
      state.elsewhere = true;
      assertThat(ended(viewer)).isTrue();
    }
    awaitMetric("berth_live_viewers ", 0);
  }

  private static boolean ended(FeedClient viewer) {
    try {
      return viewer.next().equals("end");
    } catch (IOException reset) {
      return true;
    }
  }

  @Test
  void curvesThatAreReadAtOnceAreLimited() throws Exception {
    for (int i = 0; i < WORKERS; i++) {
      get("/busy");
    }
    assertThat(busy.await(60, TimeUnit.SECONDS)).isTrue();
    CountDownLatch refused = new CountDownLatch(4);
    List<CompletableFuture<HttpResponse<String>>> reads = new ArrayList<>();
    for (int i = 0; i < LiveRoutes.MAX_CURVES + 4; i++) {
      reads.add(get("/api/v1/history"));
      reads.get(i).thenAccept(each -> countDown(refused, each));
    }
    assertThat(refused.await(60, TimeUnit.SECONDS)).isTrue();
    free.countDown();
    List<Integer> statuses = new ArrayList<>();
    for (CompletableFuture<HttpResponse<String>> each : reads) {
      statuses.add(each.get(60, TimeUnit.SECONDS).statusCode());
    }
    assertThat(statuses).containsOnly(200, 503);
    assertThat(Collections.frequency(statuses, 200)).isEqualTo(LiveRoutes.MAX_CURVES);
    assertThat(admin.get("/api/v1/history").statusCode()).isEqualTo(200);
  }

  private CompletableFuture<HttpResponse<String>> get(String path) {
    URI uri = URI.create("http://127.0.0.1:" + admin.port + path);
    HttpRequest request = HttpRequest.newBuilder(uri).build();
    return http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
  }

  private static void countDown(CountDownLatch refused, HttpResponse<String> response) {
    if (response.statusCode() == 503 && response.body().contains("too_many_reads")) {
      refused.countDown();
    }
  }

  @Test
  void historyOfAllAndOfUnknownNames() {
    JsonObject all = new JsonObject(admin.get("/api/v1/history").body());
    assertThat(all.getInteger("step_s")).isEqualTo(1);
    assertThat(all.getJsonObject("columns").getJsonArray("requests_per_s")).hasSize(3_600);
    assertThat(new JsonObject(admin.get("/api/v1/history?range=day").body()).getInteger("step_s"))
        .isEqualTo(60);
    assertThat(admin.get("/api/v1/history?deployment=a%23b").statusCode()).isEqualTo(404);
    assertThat(admin.get("/api/v1/history?node=x").statusCode()).isEqualTo(404);
    for (String query :
        List.of(
            "deployment=a", "deployment=a%23", "range=year", "node=x&deployment=a%23b", "x=1")) {
      assertThat(admin.get("/api/v1/history?" + query).statusCode()).as(query).isEqualTo(400);
    }
  }
}
