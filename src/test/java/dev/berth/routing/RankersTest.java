package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.RoutingWorld;
import dev.berth.routing.explain.CandidateSnapshot;
import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.CurrentRanker;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.LocalityTiers;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.view.RequestExplanation;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rankers in a router: what they see of requests, and what a change of them does to waiters. */
class RankersTest {
  private final RoutingWorld world = new RoutingWorld();

  private List<RoutingWorld.Replica> replicas(int size, int max) {
    List<RoutingWorld.Replica> made =
        IntStream.range(0, size).mapToObj(i -> world.local("r" + i, max)).toList();
    world.publish();
    return made;
  }

  private void hash(int fallbacks) {
    world.router.ranker.set(new ConsistentHashRanker(100, fallbacks, 0));
  }

  private Future<Response> call(String session) {
    return world.settled(world.handle().withSessionId(session).call(Request.get("/" + session)));
  }

  /** The one replica where more run than before. */
  private static RoutingWorld.Replica busiest(List<RoutingWorld.Replica> of) {
    return of.stream().reduce((a, b) -> a.running.size() >= b.running.size() ? a : b).orElseThrow();
  }

  // --- listeners ---

  private final List<Long> heard = new ArrayList<>();

  private RoutingWorld.Replica listenedTo() {
    ReplicaRanker listening =
        new ReplicaRanker() {
          @Override
          public void rank(
              Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking) {}

          @Override
          public Listener joined(String replicaId) {
            return (took, now) -> heard.add(took);
          }
        };
    world.router.ranker.set(listening);
    return world.published(world.remote("far", 1));
  }

  @Test
  void listenerIsToldOnceOfAStreamedAnswer() {
    RoutingWorld.Replica far = listenedTo();
    world.settled(world.handle().call(Request.get("/")));
    world.pass(Duration.ofMillis(50));
    var begun = far.beginStream();
    world.run();
    world.pass(Duration.ofMillis(50));
    far.endStream(begun);
    world.run();
    assertThat(heard).containsExactly(Duration.ofMillis(50).toNanos());
  }

  @Test
  void listenerIsToldOnceOfAStreamThatIsCutOrCancelled() {
    RoutingWorld.Replica far = listenedTo();
    world.settled(world.handle().call(Request.get("/")));
    var begun = far.beginStream();
    world.run();
    far.ledger.complete();
    far.running.clear();
    far.answer(
        begun.source(),
        new dev.berth.protocol.BusMessage.StreamReset(
            begun.callId(), dev.berth.api.BerthException.Kind.TIMEOUT, "", far.ledger.load()));
    world.run();
    assertThat(heard).hasSize(1);
    var call = world.settled(world.handle().start(Request.get("/")));
    far.beginStream();
    world.run();
    world.run(call::cancel);
    assertThat(heard).hasSize(2);
  }

  // --- consistent hash ---

  @Test
  void requestsOfOneSessionMeetOneReplicaAndThoseWithoutGoAnywhere() {
    List<RoutingWorld.Replica> five = replicas(5, 1_000);
    hash(2);
    for (int i = 0; i < 30; i++) {
      call("s1");
    }
    assertThat(five.stream().filter(replica -> !replica.running.isEmpty())).hasSize(1);
    RoutingWorld.Replica own = busiest(five);
    assertThat(world.settled(world.handle().withSessionId("s1").choose()).result().replicaId())
        .isEqualTo(own.info.replicaId());
    for (int i = 0; i < 200; i++) {
      world.handle().call(Request.get("/"));
    }
    world.run();
    assertThat(five).allMatch(replica -> replica.running.size() > 10);
  }

  /** Ray Serve's test_fallback_when_primary_at_max_ongoing. */
  @Test
  void whenItsReplicaIsFullASessionGoesToTheNextAndBackAgain() {
    List<RoutingWorld.Replica> three = replicas(3, 2);
    hash(2);
    Set<RoutingWorld.Replica> order = new java.util.LinkedHashSet<>();
    for (int i = 0; i < 6; i++) {
      call("s1");
      three.stream().filter(replica -> !replica.running.isEmpty()).forEach(order::add);
    }
    assertThat(order).hasSize(3);
    RoutingWorld.Replica first = order.iterator().next();
    three.forEach(replica -> replica.finish());
    world.run();
    assertThat(three).allMatch(replica -> replica.running.size() == 1);
    call("s1");
    assertThat(first.running).hasSize(2);
  }

  /** Ray Serve's test_backoff_when_all_exhausted_then_retries_on_drain, without the back-off. */
  @Test
  void whenAllAreFullASessionWaitsAndTakesTheFirstSlotThatIsFree() {
    List<RoutingWorld.Replica> three = replicas(3, 1);
    hash(0);
    IntStream.range(0, 3).forEach(i -> call("s1"));
    assertThat(three)
        .as("beyond those that are ranked any free slot will do")
        .allMatch(replica -> replica.running.size() == 1);
    Future<Response> waits = call("s1");
    assertThat(world.router.queued()).isOne();
    three.get(2).finish();
    assertThat(world.router.queued()).isZero();
    assertThat(three.get(2).running).hasSize(1);
    assertThat(waits.isComplete()).isFalse();
  }

  /** Ray Serve's test_dead_primary_ and test_unavailable_primary_falls_over_then_recovers. */
  @Test
  void whileItsReplicaIsGoneASessionIsWithTheNextAndReturnsWithIt() {
    List<RoutingWorld.Replica> five = replicas(5, 100);
    hash(2);
    call("s1");
    RoutingWorld.Replica own = busiest(five);
    own.finish();
    world.remove(own);
    world.publish();
    call("s1");
    call("s1");
    RoutingWorld.Replica next = busiest(five.stream().filter(each -> each != own).toList());
    assertThat(next.running).hasSize(2);
    RoutingWorld.Replica again =
        world.published(world.local(own.info.replicaId(), 100)); // of the same name
    call("s1");
    assertThat(again.running).hasSize(1);
  }

  @Test
  void whoWaitsKeepsItsKey() {
    replicas(5, 1);
    hash(0);
    IntStream.range(0, 5).forEach(i -> world.handle().call(Request.get("/" + i)));
    world.run();
    world.settled(world.handle().withSessionId("s1").call(Request.get("/waits")));
    assertThat(world.router.queued()).isOne();
    List<Long> keys = new ArrayList<>();
    world.router.ranker.setOwn(
        (candidates, asker, random, ranking) -> keys.add(asker.key()), failed -> {});
    assertThat(keys).isNotEmpty().doesNotContain(ReplicaRanker.Asker.NO_KEY);
    assertThat(new HashSet<>(keys)).hasSize(1);
  }

  // --- the others ---

  @Test
  void roundRobinIsExactWhereSlotsAreFree() {
    List<RoutingWorld.Replica> four = replicas(4, 100);
    world.router.ranker.set(new RoundRobinRanker());
    for (int i = 0; i < 40; i++) {
      world.handle().call(Request.get("/" + i));
    }
    world.run();
    assertThat(four).allMatch(replica -> replica.running.size() == 10);
  }

  @Test
  void onlyOneThatAsksForItIsToldOfAnswers() {
    List<RoutingWorld.Replica> two = replicas(2, 10);
    List<Long> took = new ArrayList<>();
    world.router.ranker.set(
        new ReplicaRanker() {
          @Override
          public void rank(Candidates all, Asker asker, RandomGenerator random, Ranking ranking) {
            ranking.add(0);
          }

          @Override
          public Listener joined(String replicaId) {
            return replicaId.equals("r0") ? (nanos, now) -> took.add(nanos) : null;
          }
        });
    call("");
    world.clock.advance(Duration.ofMillis(30));
    two.get(0).finish();
    assertThat(took).containsExactly(Duration.ofMillis(30).toNanos());

    world.settled(world.handle().withTimeout(Duration.ofMillis(50)).call(Request.get("/slow")));
    world.pass(Duration.ofMillis(100));
    assertThat(took).as("a caller that gave up").hasSize(2);
    assertThat(took.get(1)).isGreaterThanOrEqualTo(Duration.ofMillis(50).toNanos());

    world.router.ranker.set(new PowerOfTwoRanker());
    call("");
    two.forEach(RoutingWorld.Replica::finishAll);
    assertThat(took).hasSize(2);
  }

  @Test
  void explainShowsTheRankersOrder() {
    replicas(5, 100);
    hash(2);
    CandidateSnapshot seen = seen(KeyHash.of("s1"));
    assertThat(seen.policy())
        .isEqualTo("consistent_hash, key " + Long.toHexString(KeyHash.of("s1")));
    call("s1");
    assertThat(ranked(seen)).hasSize(3);
    assertThat(ranked(seen(KeyHash.of("s1"))))
        .as("the one that it went to is the first")
        .isEqualTo(ranked(seen));
    world.router.ranker.setOwn(new Backwards(), failed -> {});
    assertThat(seen(0).policy()).isEqualTo("Backwards");
    assertThat(ranked(seen(0))).containsExactly("r4", "r3", "r2", "r1", "r0");
  }

  private CandidateSnapshot seen(long key) {
    ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
    ReplicaSet set = world.router.replicas;
    set.ranker.rank(set.seenFrom(0), () -> key, new SplittableRandom(1), ranking);
    return CandidateSnapshot.of(set, 0, ranking, key);
  }

  private static List<String> ranked(CandidateSnapshot seen) {
    return seen.candidates().stream()
        .filter(candidate -> candidate.rank() >= 0)
        .map(RequestExplanation.Candidate::replicaId)
        .toList();
  }

  /** The last first. */
  private static final class Backwards implements ReplicaRanker {
    @Override
    public void rank(Candidates all, Asker asker, RandomGenerator random, Ranking ranking) {
      for (int index = all.size() - 1; index >= 0; index--) {
        ranking.add(index);
      }
    }
  }

  // --- changed live ---

  /** To each ranker there is, each time a new one, and to some of no use. */
  private List<Runnable> changes() {
    CurrentRanker ranker = world.router.ranker;
    ReplicaRanker throwing =
        (candidates, asker, random, ranking) -> {
          throw new LinkageError("of no use");
        };
    return List.of(
        () -> ranker.set(new PowerOfTwoRanker()),
        () -> ranker.set(new LeastRequestsRanker(LocalityTiers.ALL, 16)),
        () -> ranker.set(new RoundRobinRanker()),
        () -> ranker.set(new ConsistentHashRanker(100, 2, 0)),
        () -> ranker.set(new ConsistentHashRanker(100, 2, 1.25)),
        () -> ranker.set(new LeastLatencyRanker(LocalityTiers.ALL, 1e9, 1e6, world.clock)),
        () -> ranker.setOwn(new Backwards(), failed -> {}),
        () -> ranker.setOwn(throwing, failed -> {}),
        () -> ranker.setOwn((all, asker, random, ranking) -> ranking.add(77), failed -> {}));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void noChangeOfTheRankerLosesAWaiter(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<RoutingWorld.Replica> here = new ArrayList<>(replicas(4, 2));
    List<Runnable> changes = changes();
    List<Future<Response>> calls = new ArrayList<>();
    List<Integer> served = new ArrayList<>();
    for (int step = 0; step < 600; step++) {
      int what = random.nextInt(10);
      if (what < 4) {
        int number = calls.size();
        Future<Response> call =
            world
                .handle()
                .withSessionId(random.nextBoolean() ? "s" + random.nextInt(5) : "")
                .call(Request.get("/" + number));
        calls.add(call.onComplete(any -> served.add(number)));
      } else if (what < 8) {
        RoutingWorld.Replica replica = here.get(random.nextInt(here.size()));
        if (!replica.running.isEmpty()) {
          replica.finish();
        }
      } else if (what == 8) {
        changes.get(random.nextInt(changes.size())).run();
      } else if (here.size() < 6) {
        here.add(world.published(world.local("more" + step, 2)));
      }
      world.run();
      int running = here.stream().mapToInt(replica -> replica.running.size()).sum();
      assertThat(world.router.queued() == 0 || running == 2 * here.size())
          .as("step %d: %d wait, %d run", step, world.router.queued(), running)
          .isTrue();
    }
    while (here.stream().anyMatch(replica -> !replica.running.isEmpty())) {
      here.forEach(RoutingWorld.Replica::finishAll);
    }
    assertThat(calls).hasSizeGreaterThan(100).allMatch(Future::succeeded);
    assertThat(served).hasSize(calls.size());
    world.assertAllAtRest();
  }
}
