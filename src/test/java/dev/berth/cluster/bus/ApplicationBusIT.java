package dev.berth.cluster.bus;

import static dev.berth.cluster.link.LinkWorld.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.data.FakeNode;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.BusMessageCodec;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The applications' event bus between three processes, with the controller's table. */
@Timeout(60)
class ApplicationBusIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private final List<Process> processes = new ArrayList<>();
  private final AddressRegistrations controller = new AddressRegistrations();
  private Process one;
  private Process two;
  private Process three;

  private static final class Process {
    final String name;
    final ApplicationAddresses addresses;
    final BusCluster cluster;
    final Vertx vertx;
    final EventBus bus;
    final ReservedAddresses reserved;
    final ApplicationBus applications;
    final BlockingQueue<Object> received = new LinkedBlockingQueue<>();

    Process(String name) {
      this.name = name;
      addresses = new ApplicationAddresses(name, System::nanoTime);
      cluster = new BusCluster(name, addresses);
      vertx =
          ClusteredVertx.build(
              Vertx.builder(),
              new VertxOptions().setEventLoopPoolSize(1),
              FakeNode.config(name, TIMEOUT, TIMEOUT),
              cluster);
      bus = vertx.eventBus();
      bus.registerDefaultCodec(BusMessage.class, new BusMessageCodec());
      reserved = ReservedAddresses.install(bus);
      applications = ApplicationBus.install(bus, name, cluster, addresses);
    }

    MessageConsumer<Object> consume(String address) {
      return bus.consumer(address, message -> received.add(message.body()));
    }

    Object next() throws Exception {
      return received.poll(20, TimeUnit.SECONDS);
    }
  }

  /** A type of an application with a codec of its own. */
  private record Order(int id) {}

  private static final class OrderCodec implements MessageCodec<Order, Order> {
    @Override
    public void encodeToWire(Buffer buffer, Order order) {
      buffer.appendInt(order.id);
    }

    @Override
    public Order decodeFromWire(int position, Buffer buffer) {
      return new Order(buffer.getInt(position));
    }

    @Override
    public Order transform(Order order) {
      return order;
    }

    @Override
    public String name() {
      return "orders";
    }

    @Override
    public byte systemCodecID() {
      return -1;
    }
  }

  @BeforeEach
  void start() {
    one = process("n1~a");
    two = process("n2~b");
    three = process("n3~c");
    for (Process each : processes) {
      processes.stream()
          .filter(other -> other != each)
          .forEach(
              other ->
                  each.cluster.peers.add(FakeNode.member(other.name, 1, other.cluster.port(), 1)));
    }
  }

  private Process process(String name) {
    Process made = new Process(name);
    processes.add(made);
    controller.join(name, 1);
    return made;
  }

  /** Reports all addresses, and publishes them. */
  private void publish() {
    for (Process each : processes) {
      each.addresses.changes().forEach(change -> controller.apply(each.name, 1, change));
    }
    List<AddressChange> changes = controller.publish(Integer.MAX_VALUE);
    processes.forEach(each -> each.addresses.apply(changes));
  }

  private void until(BooleanSupplier condition) throws Exception {
    while (!condition.getAsBoolean()) { // the class has a timeout
      await(one.vertx.timer(5));
    }
  }

  @AfterEach
  void stop() throws Exception {
    for (Process each : processes) {
      await(each.vertx.close());
    }
  }

  @Test
  void publishReachesEveryNodeAndSendEachInTurn() throws Exception {
    for (Process each : processes) {
      each.consume("news");
    }
    publish();
    one.bus.publish("news", "first");
    for (Process each : processes) {
      assertThat(each.next()).isEqualTo("first");
    }
    Set<Object> all = new HashSet<>();
    for (int i = 0; i < 30; i++) {
      await(one.bus.sender("news").write(i));
    }
    for (Process each : processes) {
      for (int i = 0; i < 9; i++) {
        all.add(each.next());
      }
    }
    until(
        () -> {
          processes.forEach(each -> each.received.drainTo(all));
          return all.size() == 30;
        });
    assertThat(all).as("each once").hasSize(30).doesNotContainNull();
    assertThat(processes).allMatch(each -> each.received.isEmpty());
    assertThat(one.applications.inFlight(two.name)).isZero();
  }

  @Test
  void senderWithoutAConsumerReachesOthers() throws Exception {
    two.consume("news");
    publish();
    await(one.bus.publisher("news").write("a"));
    await(one.bus.sender("news").write("b"));
    assertThat(List.of(two.next(), two.next())).containsExactly("a", "b");
    assertThatThrownBy(() -> await(one.bus.request("none", "x")))
        .hasMessageEndingWith("No handlers for address none");
    assertThatThrownBy(() -> await(one.bus.publisher("none").write("x")))
        .hasMessageEndingWith("No handlers for address none");
  }

  @Test
  void repliesReturnAndMayBeRepliedTo() throws Exception {
    two.bus.<String>consumer(
        "chat",
        message ->
            message
                .<String>replyAndRequest(message.body() + " b")
                .onSuccess(next -> next.reply(next.body() + " d")));
    three.bus.consumer("failing", message -> message.fail(418, "no tea"));
    publish();
    Message<String> first = await(one.bus.<String>request("chat", "a"));
    assertThat(first.body()).isEqualTo("a b");
    assertThat(await(first.<String>replyAndRequest(first.body() + " c")).body())
        .isEqualTo("a b c d");
    assertThatThrownBy(() -> await(one.bus.request("failing", "x"))).hasMessageEndingWith("no tea");
  }

  @Test
  void simpleTypesCrossAndOthersFailInOneSentence() throws Exception {
    two.consume("types");
    two.bus.registerDefaultCodec(Order.class, new OrderCodec());
    two.bus.consumer(
        "order", message -> message.reply(new Order(7), new DeliveryOptions().setLocalOnly(true)));
    one.bus.registerDefaultCodec(Order.class, new OrderCodec());
    publish();
    List<Object> types =
        List.of(
            "text",
            Buffer.buffer("bytes"),
            new JsonObject().put("a", 1),
            new JsonArray().add(2),
            1,
            2L,
            (short) 3,
            (byte) 4,
            5.5f,
            6.5,
            true,
            'c');
    for (Object each : types) {
      one.bus.send("types", each);
      assertThat(two.next()).isEqualTo(each);
    }
    one.bus.send("types", new byte[] {1, 2});
    assertThat(two.next()).isEqualTo(new byte[] {1, 2});

    String refused =
        ": codec orders (expected: String, Buffer, byte[], JSON or a primitive; others with"
            + " DeliveryOptions.setLocalOnly(true))";
    assertThatThrownBy(() -> await(one.bus.request("types", new Order(1))))
        .hasMessageEndingWith("message to types" + refused);
    assertThatThrownBy(() -> await(one.bus.publisher("types").write(new Order(1))))
        .hasMessageEndingWith("message to types" + refused);
    assertThatThrownBy(() -> await(one.bus.request("order", "7")))
        .as("a reply of such a type")
        .hasMessageMatching(".*message to __vertx.reply.*" + "\\Q" + refused + "\\E");
    assertThatThrownBy(() -> one.bus.send("types", BigDecimal.ONE))
        .hasMessageEndingWith("No message codec for type: class java.math.BigDecimal");
    assertThat(two.received).isEmpty();

    one.consume("types");
    DeliveryOptions local = new DeliveryOptions().setLocalOnly(true);
    one.bus.send("types", new Order(2), local).send("types", BigDecimal.TEN, local);
    assertThat(List.of(one.next(), one.next())).containsExactly(new Order(2), BigDecimal.TEN);
  }

  @Test
  void largeMessagesAndBytesInFlightAreBounded() throws Exception {
    two.consume("bulk");
    publish();
    assertThatThrownBy(() -> await(one.bus.request("bulk", Buffer.buffer(new byte[65_536]))))
        .hasMessageEndingWith("message to bulk: 65544 bytes (expected: at most 65536 to a node)");
    one.bus.send("bulk", Buffer.buffer(new byte[65_000]));
    assertThat(((Buffer) two.next()).length()).isEqualTo(65_000);

    NetServer hung = two.vertx.createNetServer().connectHandler(NetSocket::pause);
    await(hung.listen(0, "127.0.0.1"));
    one.cluster.peers.add(FakeNode.member("n4~d", 1, hung.actualPort(), 1));
    one.addresses.apply(
        List.of(new AddressChange("n4~d", 1, true, List.of("stuck", "bulk"), List.of())));
    Buffer large = Buffer.buffer(new byte[60_000]);
    List<Integer> inFlight = new ArrayList<>();
    until(
        () -> { // the kernel accepts some
          var write = one.bus.sender("stuck").write(large);
          inFlight.add(write.failed() ? one.applications.inFlight("n4~d") : 0);
          return inFlight.stream().filter(each -> each > 0).distinct().count()
              < inFlight.stream().filter(each -> each > 0).count();
        });
    assertThat(inFlight.get(inFlight.size() - 1)).isBetween(17 * 60_000, 1_048_576);
    assertThat(one.bus.sender("stuck").write(large).cause())
        .hasMessageEndingWith(
            "message to stuck: n4~d: over 1048576 bytes in flight (expected: retry)");
    var partial = one.bus.publisher("bulk").write("one of two");
    assertThat(two.next()).as("of the other node").isEqualTo("one of two");
    assertThat(one.applications.inFlight("n4~d")).isPositive();
    await(hung.close());
    until(partial::isComplete);
    until(() -> one.applications.inFlight("n4~d") == 0);
  }

  @Test
  void lostNodesReceiveNothingMore() throws Exception {
    two.consume("news");
    three.consume("news");
    publish();
    controller.remove(two.name);
    publish();
    one.bus.publish("news", "x");
    assertThat(three.next()).isEqualTo("x");
    for (int i = 0; i < 10; i++) {
      await(one.bus.sender("news").write(i));
      assertThat(three.next()).isEqualTo(i);
    }
    assertThat(two.received).isEmpty();
  }

  @Test
  void addressesOfBerthAreReserved() throws Exception {
    String address = BusAddresses.replica(two.name, 0);
    two.consume(address);
    assertThat(two.addresses.changes()).as("no registration").isEmpty();
    for (EventBus each : List.of(one.bus, two.bus)) {
      assertThatThrownBy(() -> await(each.request(address, "forged")))
          .hasMessageEndingWith(
              "address %s: reserved (expected: one without berth.)".formatted(address));
      each.send(address, "forged").publish(address, "forged");
    }
    assertThat(one.reserved.refusedCount()).isEqualTo(3);
    assertThat(two.reserved.refusedCount()).isEqualTo(3);
    assertThat(two.received).isEmpty();
    BlockingQueue<Object> foreign = new LinkedBlockingQueue<>();
    two.bus.consumer(address, message -> foreign.add(message.body()));
    two.bus.localConsumer(address, message -> foreign.add(message.body()));
    DeliveryOptions marked = new DeliveryOptions().setCodecName(BusMessageCodec.NAME);
    for (int i = 0; i < 20; i++) {
      one.bus.send(address, new BusMessage.CallAccepted(i, 0), marked);
      two.bus.send(address, new BusMessage.CallAccepted(i, 0), marked);
    }
    for (int i = 0; i < 40; i++) {
      assertThat(two.next()).as("of the first consumer").isNotNull();
    }
    assertThat(foreign).isEmpty();
  }

  @Test
  void completionWaitsForTheController() throws Exception {
    MessageConsumer<Object> consumer = two.consume("news");
    assertThat(consumer.completion().isComplete()).isFalse();
    publish();
    await(consumer.completion());
    await(two.consume("news").completion());
    await(two.bus.localConsumer("mine", message -> {}).completion());
    await(consumer.unregister());
    publish();
    one.bus.publish("news", "still");
    assertThat(two.next()).isEqualTo("still");
  }
}
