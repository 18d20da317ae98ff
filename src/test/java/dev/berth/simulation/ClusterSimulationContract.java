package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

@Tag("simulation")
abstract class ClusterSimulationContract extends SeededRuns<ClusterSimulation.Result> {
  /** Outcomes that at least one seed must reach, beside the faults and the reported failures. */
  private static final Set<String> SEEN =
      Set.of(
          "CallAccepted",
          "CallRefused",
          "CancelCall",
          "RecallCall",
          "ReleaseSlot",
          "RenewLease",
          "ReplicaLoad",
          "RequestCredit",
          "SlotOffer",
          "SlotReserved",
          "OUTCOME_UNKNOWN",
          "REPLICA_UNAVAILABLE",
          "RESERVATION_EXPIRED",
          "TIMEOUT",
          "accepted crossed its recall",
          "bytes of a lost node",
          "calls to a held loop",
          "commands refused",
          "control links reset amid starts",
          "full buffers at a pause",
          "lost or left",
          "refused DRAINING",
          "refused EXPIRED",
          "refused FULL",
          "refused RECALLED",
          "refused TOO_LATE",
          "refused UNKNOWN_REPLICA",
          "replicas for those that were lost",
          "replicas of a journal",
          "run after their loop was held",
          "run elsewhere",
          "strange replicas");

  private static final Logger LOG = (Logger) LoggerFactory.getLogger("dev.berth");

  private final LongFunction<ClusterSimulation.Result> runs;
  private final int seeds;

  /**
   * @param property that asks for one seed; with an s for their number
   */
  ClusterSimulationContract(
      String property, LongFunction<ClusterSimulation.Result> runs, int seeds) {
    super(property, runs, 10_000);
    this.runs = runs;
    this.seeds = Integer.getInteger(property + "s", seeds);
  }

  /** Everything fails there, and says so. */
  @BeforeAll
  static void silence() {
    LOG.setLevel(Level.OFF);
  }

  @AfterAll
  static void speakAgain() {
    LOG.setLevel(null);
  }

  @Test
  void whateverBefallsNodesNothingRunsTwiceAndAllComesToServe() {
    assumeAllSeeds();
    Map<ClusterSimulation.Fault, Integer> faults = new EnumMap<>(ClusterSimulation.Fault.class);
    Map<String, Long> counts = new TreeMap<>();
    long events = 0;
    for (ClusterSimulation.Result each :
        SeedFailures.runAll(LongStream.range(Seeds.BASE, Seeds.BASE + seeds).parallel(), runs)) {
      events += each.events();
      each.faults().forEach((fault, times) -> faults.merge(fault, times, Integer::sum));
      each.counts().forEach((what, times) -> counts.merge(what, times, Long::sum));
    }
    System.out.printf(
        "simulation of clusters: %,d seeds from %d, %,d events, %s, %s%n",
        seeds, Seeds.BASE, events, faults, counts);
    if (Seeds.areOfEveryBuild()) {
      assertThat(faults)
          .as("what no seed reached")
          .containsOnlyKeys(ClusterSimulation.Fault.values());
      assertThat(counts).as("what no seed came to").containsKeys(SEEN.toArray(String[]::new));
    }
  }
}
