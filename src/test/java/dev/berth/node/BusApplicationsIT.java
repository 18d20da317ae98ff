package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.bus.ReservedAddresses;
import dev.berth.code.CompiledJar;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.EventBusImpl;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three nodes in this JVM whose applications share an event bus. */
@Timeout(120)
class BusApplicationsIT {
  /** Application whose replica has a consumer, a codec and interceptors from its start. */
  private static final String TALKER =
      """
      package talk;

      import dev.berth.api.*;
      import io.vertx.core.Future;
      import io.vertx.core.Handler;
      import io.vertx.core.Vertx;
      import io.vertx.core.buffer.Buffer;
      import io.vertx.core.eventbus.*;
      import java.util.concurrent.atomic.*;

      public final class Talker implements AsyncHandler {
        private static final String VERSION = "%s";
        private static final AtomicBoolean REGISTERED = new AtomicBoolean();
        private static final AtomicInteger STOLEN = new AtomicInteger();

        public static final class Codec implements MessageCodec<Talker, Talker> {
          public void encodeToWire(Buffer buffer, Talker it) {}
          public Talker decodeFromWire(int at, Buffer buffer) { return null; }
          public Talker transform(Talker it) { return it; }
          public String name() { return "talker" + System.identityHashCode(Codec.class); }
          public byte systemCodecID() { return -1; }
        }

        private final EventBus bus;

        Talker(ReplicaContext replica) throws Exception {
          bus = replica.eventBus();
          if (REGISTERED.compareAndSet(false, true)) {
            bus.registerDefaultCodec(Talker.class, new Codec());
          }
          Handler<DeliveryContext<Object>> through = DeliveryContext::next;
          bus.addOutboundInterceptor(through).addInboundInterceptor(each -> each.next());
          MessageConsumer<String> version = bus.consumer("version");
          version.handler(message -> message.reply(VERSION + " " + Thread.currentThread().getName()));
          MessageConsumer<String> streamed = bus.consumer("streamed");
          streamed.bodyStream().handler(body -> {});
          version.completion().toCompletionStage().toCompletableFuture().get();
        }

        public static Application build() {
          return Application.of(Deployment.of("talker", Talker::new));
        }

        @Override
        public Future<Response> handle(Request request, RequestContext context) {
          EventBus raw = Vertx.currentContext().owner().eventBus();
          if (request.path().endsWith("/steal")) {
            raw.localConsumer("berth.controller", message -> STOLEN.incrementAndGet());
            raw.consumer("berth.controller", message -> STOLEN.incrementAndGet());
            raw.consumer("later", message -> message.reply("raw"));
            String name;
            try {
              Class.forName("dev.berth.protocol.BusMessage");
              name = "found";
            } catch (ClassNotFoundException hidden) {
              name = "hidden";
            }
            return Future.succeededFuture(Response.text(name));
          }
          if (request.path().endsWith("/stolen")) {
            return Future.succeededFuture(Response.text("" + STOLEN));
          }
          return raw.<String>request("version", "?").map(reply -> Response.text(reply.body()));
        }
      }
      """;

  @TempDir private Path folder;
  private final List<TestNode> nodes = new ArrayList<>();
  private int control;
  private final int consensus = ClusterIT.freePort();

  private String yaml(String name, String role) {
    return """
        http_options: {host: 127.0.0.1, port: 0}
        berth:
          event_loops: 2
          admin: {port: 0}
          state_dir: %s
          cluster:
            name: t
            node: %s
            role: %s
            control: ["n1@127.0.0.1:%d"]
            bind: 127.0.0.1
            insecure: true
            event_bus: true
            ports: {control: %d, data: 0, consensus: %d, https: 0, bus: 0}
            detection: {interval_ms: 500, timeout_ms: 5000}
        """
        .formatted(
            folder.resolve(name), name, role, control, name.equals("n1") ? control : 0, consensus);
  }

  @BeforeEach
  void start() throws Exception {
    control = ClusterIT.freePort();
    nodes.add(new TestNode(yaml("n1", "control")));
    nodes.add(new TestNode(yaml("n2", "worker")));
    nodes.add(new TestNode(yaml("n3", "worker")));
  }

  @AfterEach
  void stop() {
    for (int i = nodes.size(); i > 0; i--) {
      nodes.get(i - 1).close();
    }
  }

  private void deploy(String yaml) {
    var deployed = nodes.get(0).admin("PUT", "/api/serve/applications/", yaml);
    assertThat(deployed.statusCode()).as(deployed.body()).isEqualTo(200);
  }

  private static EventBus bus(TestNode node) {
    return node.node.control.home().owner().eventBus();
  }

  /** Returns the number of addresses of each node, as one of them reports them. */
  private List<Integer> addresses(TestNode by) {
    JsonArray all =
        new JsonObject(by.admin("GET", "/api/v1/cluster", "").body()).getJsonArray("nodes");
    return all.stream().map(each -> ((JsonObject) each).getInteger("bus_addresses")).toList();
  }

  private static String reply(TestNode from, String address) {
    return bus(from)
        .<String>request(address, "?", new DeliveryOptions().setSendTimeout(1_000))
        .map(reply -> reply.body())
        .otherwise(Throwable::getMessage)
        .toCompletionStage()
        .toCompletableFuture()
        .join();
  }

  // --- the example ---

  private static String price(TestNode node) {
    var read = node.get("/prices/tea");
    assertThat(read.statusCode()).as(read.body()).isEqualTo(200);
    return read.body().strip();
  }

  private void set(TestNode node, String price) {
    assertThat(node.send("POST", "/prices/tea", price).body()).isEqualTo(price + "\n");
  }

  private void untilAll(String price) {
    for (TestNode each : nodes) {
      TestNode.until(() -> price(each).equals(price), () -> price(each) + " is not " + price);
    }
  }

  @Test
  void cachesOfAllNodesDropAChangedValueEvenIfAMessageIsLost() {
    deploy(
        """
        applications:
          - name: prices
            route_prefix: /prices
            import_path: dev.berth.examples.Examples:cache
            deployments:
              - name: cache
                num_replicas: 3
                max_replicas_per_node: 1
                graceful_shutdown_timeout_s: 1
        """);
    for (TestNode each : nodes) {
      TestNode.until(() -> each.get("/prices/tea").statusCode() == 200, () -> "no response");
      TestNode.until(
          () -> addresses(each).equals(List.of(1, 1, 1)), () -> "addresses " + addresses(each));
    }
    set(nodes.get(1), "3");
    untilAll("3");
    set(nodes.get(2), "4");
    long began = System.nanoTime();
    untilAll("4");
    assertThat(System.nanoTime() - began).as("the message removes").isLessThan(4_000_000_000L);

    AtomicBoolean lost = new AtomicBoolean();
    bus(nodes.get(0)).<Object>addInboundInterceptor(each -> lose(each, lost));
    set(nodes.get(2), "5");
    TestNode.until(lost::get, () -> "nothing was lost");
    assertThat(Set.of(price(nodes.get(0)))).as("the entry of the lost message").contains("4");
    untilAll("5");
    assertThat(System.nanoTime() - began).as("by its expiry").isGreaterThan(1_000_000_000L);
  }

  private static void lose(DeliveryContext<Object> each, AtomicBoolean lost) {
    if (each.message().address().equals("examples.prices.changed")) {
      lost.set(true);
    } else {
      each.next();
    }
  }

  // --- versions ---

  private String talker(String version) throws Exception {
    Path jar = CompiledJar.in(folder, version + ".jar", TALKER.formatted(version));
    return """
        applications:
          - name: talk
            route_prefix: /talk
            import_path: talk.Talker:build
            runtime_env: {jars: ["%s"]}
        """
        .formatted(jar);
  }

  @Test
  void consumersCodecsAndInterceptorsLeaveWithTheirVersion() throws Exception {
    List<Integer> before = registered();
    deploy(talker("v1"));
    for (TestNode each : nodes) {
      TestNode.until(() -> reply(each, "version").startsWith("v1"), () -> reply(each, "version"));
      assertThat(reply(each, "version")).as("on a serving loop").contains("eventloop-thread");
      TestNode.until(() -> each.get("/talk").statusCode() == 200, () -> "no response");
      assertThat(each.get("/talk").body()).startsWith("v1");
    }
    assertThat(nodes.get(0).get("/talk/steal").body()).isEqualTo("hidden");
    TestNode.until(() -> reply(nodes.get(2), "later").equals("raw"), () -> "no raw consumer");

    deploy(talker("v2"));
    Set<String> both = new HashSet<>();
    TestNode.until(
        () -> {
          both.clear();
          for (int i = 0; i < 20; i++) {
            nodes.forEach(each -> both.add(reply(each, "version").substring(0, 2)));
          }
          return both.equals(Set.of("v2"));
        },
        () -> "consumers of " + both);
    TestNode.until(
        () -> reply(nodes.get(2), "later").endsWith("No handlers for address later"),
        () -> "the consumer on the bus of Vert.x remains");

    assertThat(registered()).isNotEqualTo(before);
    deploy("applications: []");
    TestNode.until(() -> registered().equals(before), () -> registered() + " of " + before);
    TestNode.until(
        () -> nodes.stream().allMatch(each -> addresses(each).equals(List.of(0, 0, 0))),
        () -> "addresses " + addresses(nodes.get(0)));
    for (TestNode each : nodes) {
      assertThat(reply(each, "version")).endsWith("No handlers for address version");
    }
  }

  /** Returns the number of consumers, codecs and interceptors on each node. */
  private List<Integer> registered() {
    List<Integer> all = new ArrayList<>();
    for (TestNode node : nodes) {
      EventBus bus = bus(node);
      Object codecs = ReservedAddresses.read(EventBusImpl.class, bus, "codecManager");
      all.add(ReservedAddresses.consumers(bus).size());
      all.add(ReservedAddresses.<Map<?, ?>>read(CodecManager.class, codecs, "userCodecMap").size());
      for (String each : List.of("inboundInterceptors", "outboundInterceptors")) {
        all.add(ReservedAddresses.<Object[]>read(EventBusImpl.class, bus, each).length);
      }
    }
    return all;
  }

  @Test
  void consumersOfApplicationsReceiveNothingOfBerth() throws Exception {
    deploy(talker("v1"));
    TestNode.until(() -> nodes.get(0).get("/talk").statusCode() == 200, () -> "no response");
    assertThat(nodes.get(0).get("/talk/steal").body()).isEqualTo("hidden");
    EventBus control = bus(nodes.get(0)); // a consumer of Berth's loader after that of Berth
    AtomicBoolean stolen = new AtomicBoolean();
    control.consumer("berth.controller", message -> stolen.set(true));
    control.localConsumer("berth.routing.n1", message -> stolen.set(true));
    String acknowledged = "berth_metrics_batches_total";
    double before = metric(acknowledged);
    TestNode.until(() -> metric(acknowledged) >= before + 4, () -> "no metrics are pushed");
    assertThat(nodes.get(0).get("/talk/stolen").body()).isEqualTo("0");
    assertThat(stolen).isFalse();
  }

  private double metric(String name) {
    return nodes
        .get(0)
        .admin("GET", "/metrics", "")
        .body()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  @Test
  void lostNodesLeaveNoRegistration() throws Exception {
    bus(nodes.get(1)).consumer("here", message -> message.reply("n2"));
    bus(nodes.get(2)).consumer("here", message -> message.reply("n3"));
    Set<String> both = new HashSet<>();
    TestNode.until(
        () -> both.add(reply(nodes.get(0), "here")) && both.containsAll(Set.of("n2", "n3")),
        () -> "replies of " + both);
    nodes.remove(2).close();
    TestNode.until(() -> addresses(nodes.get(0)).size() == 2, () -> "n3 remains");
    for (int i = 0; i < 10; i++) {
      assertThat(reply(nodes.get(0), "here")).isEqualTo("n2");
    }
  }

  @Test
  void restartedControllerThatAwaitsANodeLearnsTheOthersAddresses() throws Exception {
    bus(nodes.get(1)).<String>consumer("here", message -> message.reply("n2"));
    TestNode.until(() -> reply(nodes.get(2), "here").equals("n2"), () -> "not registered");
    nodes.get(0).close();
    nodes.get(2).close(); // cannot leave, so that the next controller awaits it
    nodes.set(0, new TestNode(yaml("n1", "control")));
    TestNode.until(
        () -> reply(nodes.get(0), "here").equals("n2"), () -> reply(nodes.get(0), "here"));
    nodes.set(2, new TestNode(yaml("n3", "worker")));
    TestNode.until(() -> reply(nodes.get(2), "here").equals("n2"), () -> "n3 does not know it");
  }

  @Test
  void registrationWithoutAControllerKeepsTheLastSet() throws Exception {
    bus(nodes.get(1)).consumer("here", message -> message.reply("n2"));
    TestNode.until(() -> reply(nodes.get(2), "here").equals("n2"), () -> "not registered");
    nodes.remove(0).close();
    assertThat(reply(nodes.get(1), "here")).isEqualTo("n2");
    var late = bus(nodes.get(1)).consumer("later", message -> message.reply("late"));
    CompletableFuture<Void> done = late.completion().toCompletionStage().toCompletableFuture();
    assertThatThrownBy(done::join)
        .hasMessageContaining("not confirmed by a controller within 10 s");
    assertThat(reply(nodes.get(1), "later")).isEqualTo("late");
    assertThat(reply(nodes.get(0), "later")).endsWith("No handlers for address later");
  }
}
