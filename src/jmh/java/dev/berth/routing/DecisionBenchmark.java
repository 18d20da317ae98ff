package dev.berth.routing;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.slots.Asking;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.Pick;
import dev.berth.routing.slots.WaiterOwner;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Which replica, among 10 to 10 000 of this instance: the ranking alone, and the whole decision,
 * which also takes the slot and here gives it back. The budget is the ratio of the last to the
 * first.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecisionBenchmark {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");

  @Param({"10", "100", "1000", "10000"})
  public int replicas;

  private final ReplicaRanker ranker = new PowerOfTwoRanker();
  private final ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
  private final SplittableRandom random = new SplittableRandom(3);
  private DeploymentRouter router;
  private final WaiterOwner decision = new Asking(0) {}; // takes the slot and goes no further

  @Setup
  public void setUp() {
    router = router(replicas);
  }

  /** Of so many replicas, each with up to 50 of 100 slots in use. */
  static DeploymentRouter router(int replicas) {
    List<SlotLedger> ledgers = new ArrayList<>();
    List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>();
    SplittableRandom load = new SplittableRandom(1);
    for (int ordinal = 0; ordinal < replicas; ordinal++) {
      SlotLedger ledger = Ledgers.ledger(ordinal + 1, 100, System::nanoTime, load::nextLong);
      for (int running = load.nextInt(50); running > 0; running--) {
        ledger.tryAcquire();
      }
      ledgers.add(ledger);
      routes.add(new RoutingSnapshot.SnapshotReplica(info(ordinal), true));
    }
    Routers routers =
        new PlaneBuilder("here", System::nanoTime, (node, address, message) -> SendResult.GONE)
            .loop(Runnable::run, () -> true)
            .loop(Runnable::run, () -> true)
            .routers(directory(ledgers));
    DeploymentRouter router = routers.router(DEPLOYMENT, RoutingProbe.DEFAULTS);
    routers.update(
        new RoutingSnapshot(DEPLOYMENT, new RoutingSnapshot.SnapshotVersion(1, 1), true, routes));
    return router;
  }

  private static ReplicaInfo info(int ordinal) {
    return Replicas.info(
        "model-" + ordinal,
        DEPLOYMENT,
        new ReplicaAddress("here", ordinal % 2, ordinal, ordinal + 1L),
        100);
  }

  private static ReplicaDirectory directory(List<SlotLedger> ledgers) {
    return new ReplicaDirectory() {
      @Override
      public Slots slotsOf(ReplicaAddress address) {
        return ledgers.get(address.ordinal());
      }

      @Override
      public void observe(ReplicaAddress address, SlotObserver observer) {
        ledgers.get(address.ordinal()).observe(observer);
      }
    };
  }

  @Benchmark
  public int rank() {
    ranking.clear();
    ranker.rank(router.replicas.seenFrom(0), decision, random, ranking);
    return ranking.get(0);
  }

  @Benchmark
  public boolean decide() {
    Pick.rank(router.replicas, decision, ranking, random);
    Grant grant = Pick.from(router.replicas, ranking, decision, Grant.RUN, random);
    grant.giveBack();
    return grant.lease() == null;
  }
}
