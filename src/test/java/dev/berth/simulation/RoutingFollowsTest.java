package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.controller.RoutingPublisher;
import dev.berth.fakes.RandomSnapshots;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.routing.feed.RoutingFeed;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The publisher and two feeds on a bus that loses, doubles and reorders, with controllers that die
 * and instances that start anew: no feed goes back, and when it is quiet each holds what was
 * published last.
 */
class RoutingFollowsTest {
  private static final int SEEDS = Integer.getInteger("routing.seeds", 100);
  private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
  private static final int STEPS = 400;
  private static final int CALM_STEPS = 80; // 20 s: two checks that differ, a pull, another pull

  @Test
  void whateverIsLostEveryFeedComesToHoldWhatWasPublishedLast() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      new Run(seed).run();
    }
  }

  private static final class Run {
    final long seed;
    final Random random;
    final RandomSnapshots snapshots;
    final List<DeploymentId> deployments = new ArrayList<>();
    final Map<DeploymentId, RoutingSnapshot> truth = new HashMap<>(); // what is declared
    final List<Runnable> bus = new ArrayList<>();
    final Map<String, RoutingFeed> feeds = new HashMap<>();
    final Map<String, Set<DeploymentId>> wanted = new HashMap<>();
    final Map<String, Map<DeploymentId, SnapshotVersion>> routed = new HashMap<>();
    boolean rough = true;
    long term = 1;
    long counter;
    long now;
    int silentSteps; // until a new controller knows what runs
    @Nullable RoutingPublisher publisher;

    Run(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
      this.snapshots = new RandomSnapshots(random);
      for (int i = 0; i < 5; i++) {
        deployments.add(new DeploymentId("app", "d" + i));
      }
    }

    void run() {
      controllerStarts();
      instanceStarts("n1");
      instanceStarts("n2");
      for (int step = 0; step < STEPS; step++) {
        fault();
        step();
      }
      rough = false;
      if (publisher == null) {
        controllerStarts();
      }
      for (int step = 0; step < CALM_STEPS; step++) {
        step();
      }
      feeds.forEach(
          (node, feed) ->
              wanted
                  .get(node)
                  .forEach(deployment -> follows(node, deployment, feed.last(deployment))));
    }

    void follows(String node, DeploymentId deployment, @Nullable RoutingSnapshot held) {
      RoutingSnapshot declared = truth.get(deployment);
      assertThat(held).as("%s of %s, seed %d", deployment, node, seed).isNotNull();
      if (declared == null) {
        assertThat(held.available()).as("%s of %s, seed %d", deployment, node, seed).isFalse();
        return;
      }
      assertThat(held.replicas())
          .as("%s of %s, seed %d", deployment, node, seed)
          .containsExactlyInAnyOrderElementsOf(declared.replicas());
      assertThat(held.available()).isEqualTo(declared.available());
    }

    RoutingPublisher publisher() {
      assertThat(publisher).isNotNull();
      return publisher;
    }

    void fault() {
      DeploymentId deployment = deployments.get(random.nextInt(deployments.size()));
      String node = random.nextBoolean() ? "n1" : "n2";
      switch (random.nextInt(20)) {
        case 0, 1, 2, 3 -> {
          if (publisher != null && silentSteps == 0) {
            change(deployment);
          }
        }
        case 4 -> {
          if (publisher != null && silentSteps == 0 && truth.containsKey(deployment)) {
            truth.remove(deployment);
            publisher.publish(
                new RoutingSnapshot(
                    deployment, new SnapshotVersion(term, ++counter), false, List.of()));
            publisher.forget(deployment);
          }
        }
        case 5, 6 -> want(node, deployment);
        case 7 -> {
          wanted.get(node).remove(deployment);
          routed.get(node).remove(deployment);
          feeds.get(node).forget(deployment);
        }
        case 8 -> publisher = random.nextInt(4) == 0 ? null : publisher;
        case 9 -> {
          if (publisher == null) {
            controllerStarts();
          }
        }
        case 10 -> {
          if (random.nextInt(5) == 0) {
            instanceStarts(node);
          }
        }
        default -> {}
      }
    }

    void change(DeploymentId deployment) {
      RoutingSnapshot before = truth.get(deployment);
      SnapshotVersion version = new SnapshotVersion(term, ++counter);
      RoutingSnapshot after =
          before == null
              ? snapshots.of(deployment, version, 1 + random.nextInt(4))
              : snapshots.changed(before, version);
      truth.put(deployment, after);
      publisher().publish(after);
    }

    void controllerStarts() {
      term++;
      counter = 0;
      silentSteps = 1 + random.nextInt(12);
      publisher = new RoutingPublisher(term, truth::containsKey, this::toInstance);
      if (random.nextBoolean()) {
        feeds.keySet().forEach(publisher::greet);
      }
    }

    /** Publishes what runs, as told by the instances that host it. */
    void knowsWhatRuns() {
      truth.replaceAll(
          (deployment, snapshot) ->
              new RoutingSnapshot(
                  deployment,
                  new SnapshotVersion(term, ++counter),
                  snapshot.available(),
                  snapshot.replicas()));
      truth.values().stream()
          .sorted((one, other) -> one.version().compareTo(other.version()))
          .forEach(publisher()::publish);
      publisher().onRecovered();
    }

    void instanceStarts(String node) {
      Map<DeploymentId, SnapshotVersion> versions = new HashMap<>();
      routed.put(node, versions);
      wanted.put(node, new HashSet<>());
      feeds.put(
          node,
          new RoutingFeed(
              node,
              random.nextLong(),
              snapshot -> {
                SnapshotVersion before = versions.put(snapshot.deployment(), snapshot.version());
                assertThat(before == null || before.compareTo(snapshot.version()) < 0)
                    .as("%s after %s at %s, seed %d", snapshot, before, node, seed)
                    .isTrue();
              },
              this::toController,
              now));
      deployments.forEach(deployment -> want(node, deployment));
    }

    void want(String node, DeploymentId deployment) {
      wanted.get(node).add(deployment);
      feeds.get(node).want(deployment, now);
    }

    void toInstance(String node, BusMessage message) {
      send(message, it -> feeds.get(node).on(it, now));
    }

    void toController(BusMessage message) {
      send(
          message,
          it -> {
            if (publisher != null) {
              publisher.on(it);
            }
          });
    }

    void send(BusMessage message, java.util.function.Consumer<BusMessage> receiver) {
      Buffer wire = Buffer.buffer();
      WireCodec.encode(message, wire);
      Runnable delivery = () -> receiver.accept(WireCodec.decode(0, wire));
      if (!rough) {
        bus.add(delivery);
        return;
      }
      for (int copies = random.nextInt(10) == 0 ? 2 : random.nextInt(6) == 0 ? 0 : 1;
          copies > 0;
          copies--) {
        bus.add(random.nextInt(bus.size() + 1), delivery);
      }
    }

    void step() {
      now += STEP_NANOS;
      if (publisher != null && silentSteps > 0 && --silentSteps == 0) {
        knowsWhatRuns();
      }
      List.copyOf(feeds.values()).forEach(feed -> feed.tick(now));
      for (int rounds = 0; rounds < 50 && !bus.isEmpty(); rounds++) {
        if (rough && random.nextInt(8) == 0) {
          return; // the rest is late
        }
        bus.remove(0).run();
      }
    }
  }
}
