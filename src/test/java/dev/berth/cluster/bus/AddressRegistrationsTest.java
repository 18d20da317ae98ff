package dev.berth.cluster.bus;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.Promise;
import io.vertx.core.json.JsonArray;
import io.vertx.core.spi.cluster.RegistrationInfo;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Addresses of nodes and their controller, over links that delay and break. */
class AddressRegistrationsTest {
  private static final int STEPS = 2_000;

  private long now;

  private static RegistrationInfo consumer(String node, long number, boolean local) {
    return new RegistrationInfo(node, number, local);
  }

  private static List<AddressChange> crossed(List<AddressChange> changes) {
    return AddressChange.decode(new JsonArray(AddressChange.encode(changes).toBuffer()));
  }

  /** A process, and its link of one registration. */
  private final class Node {
    final String name;
    final ApplicationAddresses addresses;
    final Map<Long, String> consumers = new TreeMap<>(); // shared ones
    long registration;
    boolean connected;
    boolean lost;
    final Queue<Runnable> up = new ArrayDeque<>(); // survives the loss: late messages
    final Queue<List<AddressChange>> down = new ArrayDeque<>();

    Node(String name) {
      this.name = name;
      this.addresses = new ApplicationAddresses(name, () -> now);
    }

    Set<String> wanted() {
      return lost ? Set.of() : new HashSet<>(consumers.values());
    }
  }

  /** A cluster whose steps a seed chooses. */
  private final class Cluster {
    final Random random;
    final Map<String, Node> nodes = new TreeMap<>();
    final Set<String> applied = new HashSet<>(); // by any controller: node and address
    AddressRegistrations controller = new AddressRegistrations();
    long lastRegistration;
    long lastConsumer;
    int completions;

    Cluster(long seed) {
      random = new Random(seed);
      for (int i = 0; i < 4; i++) {
        nodes.put("n" + i + "~0", new Node("n" + i + "~0"));
      }
    }

    String address() {
      return "a" + random.nextInt(6);
    }

    void step() {
      Node node = List.copyOf(nodes.values()).get(random.nextInt(nodes.size()));
      switch (random.nextInt(12)) {
        case 0, 1 -> add(node);
        case 2 -> removeConsumer(node);
        case 3, 4 -> report(node);
        case 5, 6 -> deliverUp(node);
        case 7 -> publish();
        case 8, 9 -> deliverDown(node);
        case 10 -> connect(node);
        default -> fault(node);
      }
    }

    void add(Node node) {
      String address = address();
      long number = ++lastConsumer;
      boolean local = random.nextInt(4) == 0;
      if (!local) {
        node.consumers.put(number, address);
      }
      Promise<Void> done = Promise.promise();
      done.future()
          .onSuccess(
              known -> {
                completions++;
                if (node.consumers.containsKey(number)) {
                  assertThat(applied).contains(node.name + " " + address);
                }
              });
      node.addresses.add(address, consumer(node.name, number, local), done);
    }

    void removeConsumer(Node node) {
      List<Long> numbers = List.copyOf(node.consumers.keySet());
      if (!numbers.isEmpty()) {
        long number = numbers.get(random.nextInt(numbers.size()));
        String address = node.consumers.remove(number);
        node.addresses.remove(address, consumer(node.name, number, false), Promise.promise());
      }
    }

    void report(Node node) {
      List<AddressChange> changes = node.addresses.changes();
      if (node.connected) {
        changes.forEach(each -> send(node, each, node.registration));
      }
    }

    void send(Node node, AddressChange change, long registration) {
      AddressChange sent = crossed(List.of(change)).get(0);
      node.up.add(
          () -> {
            if (controller.apply(node.name, registration, sent)) {
              assertThat(registration).as("no late change").isEqualTo(node.registration);
              sent.added().forEach(each -> applied.add(node.name + " " + each));
              if (sent.whole()) {
                node.down.add(crossed(controller.published(controller.nodes())));
              }
            }
          });
    }

    void deliverUp(Node node) {
      Runnable next = node.up.poll();
      if (next != null) {
        next.run();
      }
    }

    void publish() {
      List<AddressChange> changes = crossed(controller.publish(1 + random.nextInt(4)));
      nodes.values().stream()
          .filter(each -> each.connected)
          .forEach(each -> each.down.add(changes));
    }

    void deliverDown(Node node) {
      List<AddressChange> next = node.down.poll();
      if (next != null) {
        node.addresses.apply(next);
      }
    }

    void connect(Node node) {
      if (!node.connected) {
        if (node.registration == 0 || node.lost) {
          node.registration = ++lastRegistration;
          node.lost = false;
        }
        node.connected = true;
        controller.join(node.name, node.registration);
        send(node, node.addresses.inventory(), node.registration);
      }
    }

    void breakLink(Node node) {
      node.connected = false;
      node.down.clear();
      if (random.nextBoolean()) {
        node.up.clear();
      }
    }

    void fault(Node node) {
      if (random.nextBoolean()) {
        breakLink(node);
      } else if (random.nextInt(4) > 0) {
        lose(node);
      } else { // another controller
        nodes.values().forEach(this::breakLink);
        nodes.values().forEach(each -> each.up.clear());
        controller = new AddressRegistrations();
      }
    }

    void lose(Node node) {
      breakLink(node);
      node.lost = true;
      controller.remove(node.name);
      nodes.values().stream()
          .filter(each -> each != node && each.connected)
          .forEach(each -> each.addresses.removeNode(node.name));
    }

    /** Connects all that are not lost, and delivers everything. */
    void settle() {
      nodes.values().stream().filter(each -> !each.lost).forEach(this::connect);
      nodes.values().forEach(this::report);
      nodes.values().forEach(each -> deliverAll(each.up, each));
      while (controller.hasChanges()) {
        publish();
      }
      nodes.values().forEach(each -> each.down.forEach(each.addresses::apply));
      nodes.values().forEach(each -> each.down.clear());
      List<String> gone = nodes.values().stream().filter(n -> n.lost).map(n -> n.name).toList();
      nodes.values().stream() // the member list
          .filter(each -> each.connected)
          .forEach(each -> gone.forEach(each.addresses::removeNode));
    }

    private void deliverAll(Queue<Runnable> up, Node node) {
      while (!up.isEmpty()) {
        deliverUp(node);
      }
    }

    void check() {
      for (Node of : nodes.values()) {
        assertThat(controller.count(of.name)).as(of.name).isEqualTo(of.wanted().size());
        for (Node by : nodes.values()) {
          if (by != of && by.connected) {
            assertThat(seen(by, of.name)).as("%s by %s", of.name, by.name).isEqualTo(of.wanted());
          }
        }
        if (of.connected) {
          assertThat(of.addresses.hasUnconfirmed() && !of.wanted().isEmpty())
              .as("%s waits for %s", of.name, of.wanted())
              .isFalse();
        }
      }
    }

    private Set<String> seen(Node by, String of) {
      Set<String> seen = new HashSet<>();
      for (int i = 0; i < 6; i++) {
        List<String> at = by.addresses.elsewhere("a" + i);
        assertThat(at).doesNotHaveDuplicates();
        if (at.contains(of)) {
          seen.add("a" + i);
        }
      }
      assertThat(by.addresses.count(of)).isEqualTo(seen.size());
      return seen;
    }
  }

  static List<Long> seeds() {
    List<Long> seeds = new ArrayList<>();
    for (long seed = 1; seed <= Integer.getInteger("simulation.seeds", 200) / 4; seed++) {
      seeds.add(seed);
    }
    return seeds;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void nodesAgreeOnceMessagesArrive(long seed) {
    Cluster cluster = new Cluster(seed);
    for (int i = 0; i < STEPS; i++) {
      cluster.step();
      if (i % 500 == 499) {
        cluster.settle();
        cluster.check();
      }
    }
    assertThat(cluster.completions).as("the run completes registrations").isPositive();
  }

  @Test
  void lostNodesAndEarlierRegistrationsLeaveNothing() {
    AddressRegistrations controller = new AddressRegistrations();
    AddressChange some = new AddressChange("n1~0", 1, true, List.of("orders"), List.of());
    assertThat(controller.apply("n1~0", 7, some)).as("before it joined").isFalse();
    controller.join("n1~0", 7);
    assertThat(controller.apply("n1~0", 7, some)).isTrue();
    assertThat(controller.apply("n1~0", 7, some)).as("a repeated change").isFalse();
    controller.publish(3);

    controller.remove("n1~0");
    AddressChange later = new AddressChange("n1~0", 2, false, List.of("prices"), List.of());
    assertThat(controller.apply("n1~0", 7, later)).as("late").isFalse();
    assertThat(controller.publish(3)).containsExactly(AddressChange.none("n1~0"));
    controller.join("n1~0", 8);
    assertThat(controller.apply("n1~0", 7, later)).as("of an earlier registration").isFalse();
    assertThat(controller.count("n1~0")).isZero();
  }

  @Test
  void moreAddressesThanTheMaximumAreRefused() {
    ApplicationAddresses addresses = new ApplicationAddresses("n1~0", () -> now);
    int most = ApplicationAddresses.MAX_ADDRESSES;
    for (int i = 0; i < most; i++) {
      addresses.add("a" + i, consumer("n1~0", i, false), (done, failed) -> {});
    }
    Map<String, Throwable> failed = new HashMap<>();
    addresses.add("more", consumer("n1~0", most, false), (done, why) -> failed.put("more", why));
    assertThat(failed.get("more"))
        .hasMessage(
            "address more: 1000 addresses have consumers on this node (expected: at most 1000)");
    assertThat(addresses.isHere("more")).as("it receives messages of its node").isTrue();
    addresses.add("a7", consumer("n1~0", most + 1, false), (done, why) -> failed.put("a7", why));
    addresses.add("local", consumer("n1~0", most + 2, true), (done, why) -> failed.put("l", why));
    assertThat(failed).containsEntry("l", null).doesNotContainKey("a7");
    addresses.add(
        "x".repeat(257), consumer("n1~0", 5_000, false), (done, why) -> failed.put("x", why));
    assertThat(failed.get("x"))
        .hasMessage("address: 257 characters (expected: at most 256 in a cluster)");
    assertThat(addresses.inventory().added()).hasSize(most);

    addresses.remove("more", consumer("n1~0", most, false), Promise.promise());
    addresses.remove("a7", consumer("n1~0", 7, false), Promise.promise());
    assertThat(addresses.changes()).as("another consumer remains").isEmpty();
    addresses.remove("a7", consumer("n1~0", most + 1, false), Promise.promise());
    assertThat(addresses.changes().get(0).removed()).containsExactly("a7");

    AddressRegistrations controller = new AddressRegistrations();
    controller.join("n1~0", 1);
    List<String> all = new ArrayList<>();
    for (int i = 0; i <= most; i++) {
      all.add("b" + i);
    }
    assertThatThrownBy(
            () -> controller.apply("n1~0", 1, new AddressChange("n1~0", 1, true, all, List.of())))
        .hasMessage("addresses of n1~0: 1001 (expected: at most 1000)");
  }

  @Test
  void registrationFailsWithoutAControllerAndIsReportedToTheNextOne() {
    ApplicationAddresses addresses = new ApplicationAddresses("n1~0", () -> now);
    Promise<Void> done = Promise.promise();
    addresses.add("orders", consumer("n1~0", 1, false), done);
    assertThat(addresses.changes()).hasSize(1);
    now = TimeUnit.SECONDS.toNanos(10) - 1;
    addresses.expire();
    assertThat(done.future().isComplete()).isFalse();
    now++;
    addresses.expire();
    assertThat(done.future().cause())
        .hasMessage(
            "registration: not confirmed by a controller within 10 s (it will be reported to the"
                + " next one)");
    assertThat(addresses.hasUnconfirmed()).isFalse();
    assertThat(addresses.inventory().added()).containsExactly("orders");
  }
}
