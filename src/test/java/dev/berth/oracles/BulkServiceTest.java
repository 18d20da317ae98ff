package dev.berth.oracles;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * With {@code eager} a replica is the server of the bulk-service queue M/D[1,b]/1. A batch takes
 * all that wait, up to b, as soon as the server is free, and its service always takes the same
 * time. The shipping router, queue, batches and ledgers run under a virtual clock with Poisson
 * arrivals.
 *
 * <p>The expected wait is exact: {@link BulkServiceChain} solves the embedded Markov chain of the
 * queue length at departures. As in {@link ErlangTest}, a control variate removes the noise of the
 * sample; here it is the arrivals in a time. The seed is fixed; both figures are printed.
 */
@Tag("simulation")
class BulkServiceTest {
  private static final long SERVICE_NANOS = 10_000_000;

  @ParameterizedTest(name = "batches of {0} at load {1}")
  @CsvSource({
    "4, 0.5, 400000",
    "4, 0.8, 600000",
    "4, 0.95, 1500000",
    "16, 0.5, 400000",
    "16, 0.8, 600000",
    "16, 0.95, 1500000"
  })
  void meanWaitIsThatOfTheBulkServiceQueue(int batch, double load, int requests) {
    double expected = new BulkServiceChain(batch, load).meanWait();
    BatchedRun run = new BatchedRun(1, BatchedRun.rules(batch, 1, true), SERVICE_NANOS, 7);
    ControlledMean stretches = run.measure(load, requests);
    double measured = stretches.correctedMean();
    System.out.printf(
        "M/D[1,%d]/1, load %.2f: mean wait %.5f (raw %.5f), chain %.5f (%+.2f %%)%n",
        batch, load, measured, stretches.rawMean(), expected, 100 * (measured / expected - 1));
    run.assertAtRest();
    assertThat(measured).isCloseTo(expected, Percentage.withPercentage(5));
  }

  @ParameterizedTest(name = "{0} replicas, {2} batches of {1} each, eager {3}")
  @CsvSource({
    "1, 16, 1, true",
    "1, 16, 1, false",
    "2, 4, 1, false",
    "2, 16, 2, true",
    "4, 10, 1, false"
  })
  void saturatedReplicasServeFullBatchesWithoutAPause(
      int replicas, int batch, int concurrent, boolean eager) {
    BatchedRun run =
        new BatchedRun(replicas, BatchedRun.rules(batch, concurrent, eager), SERVICE_NANOS, 7);
    int batches = replicas * concurrent;
    double measured = run.saturate(4 * batches * batch, 1_000); // answers in one service time
    System.out.printf(
        "%d x %d batches of %d, saturated: %.3f of %d answers in a service time%n",
        replicas, concurrent, batch, measured, batches * batch);
    run.assertAtRest();
    assertThat(measured).isCloseTo(batches * batch, Percentage.withPercentage(2));
  }

  /** Pollaczek and Khinchine: the wait of M/D/1 is load / (2 (1 − load)) services. */
  @ParameterizedTest
  @CsvSource({"0.5", "0.8", "0.95"})
  void chainOfSingleServiceHasTheWaitOfMD1(double load) {
    assertThat(new BulkServiceChain(1, load).meanWait())
        .isCloseTo(load / (2 * (1 - load)), Percentage.withPercentage(0.01));
  }

  /** At almost no load each request finds an idle server. */
  @Test
  void chainWithoutLoadHasNoWait() {
    assertThat(new BulkServiceChain(16, 1e-6).meanWait()).isLessThan(1e-4);
  }
}
