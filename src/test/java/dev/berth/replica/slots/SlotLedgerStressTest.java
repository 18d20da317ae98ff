package dev.berth.replica.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.ReserveResult;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Threads that do everything at once, for long: what must hold whatever the order was. */
@Tag("concurrency")
class SlotLedgerStressTest {
  private static final int WORKERS = 3;
  private static final long TTL = 1_000;

  /** What one worker holds. */
  private static final class Worker {
    final int index;
    final SplittableRandom random;
    final ArrayDeque<SlotLease> leases = new ArrayDeque<>();
    final ArrayDeque<AttemptId> attempts = new ArrayDeque<>();
    int running;
    long counter;

    Worker(int index, long seed) {
      this.index = index;
      this.random = new SplittableRandom(seed + index);
    }

    AttemptId attempt() {
      return new AttemptId(9, index, ++counter);
    }
  }

  @Test
  void everyGrantEndsOnceWhateverThreadsDoAtOnce() {
    long seed = 17;
    int max = 4;
    ManualClock clock = new ManualClock();
    SlotLedger ledger = Ledgers.ledger(max, clock);
    AtomicInteger holders = new AtomicInteger(); // never more than what the ledger counts
    Worker[] workers = new Worker[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
      workers[i] = new Worker(i, seed);
    }

    Contest.run(
        WORKERS,
        Effort.times(4_000),
        new Contest.Round() {
          @Override
          public void act(int contender, int round) {
            for (int i = 0; i < 50; i++) {
              step(workers[contender], ledger, clock, holders, max);
            }
          }

          @Override
          public void check(int round) {
            int running = 0;
            for (Worker worker : workers) {
              running += worker.running;
            }
            assertThat(ledger.running()).as("running, seed %d", seed).isEqualTo(running);
            assertThat(ledger.ongoing()).as("ongoing, seed %d", seed).isLessThanOrEqualTo(max);
            Ledgers.assertBalanced(ledger);
          }
        });

    for (Worker worker : workers) {
      for (; worker.running > 0; worker.running--) {
        ledger.complete();
      }
    }
    clock.advanceNanos(TTL);
    ledger.sweep();
    Ledgers.assertAtRest(ledger);
    assertThat(ledger.view("r", 0).granted()).isGreaterThan(Effort.times(4_000));
    assertThat(ledger.view("r", 0).expired()).as("leases that ran out").isPositive();
  }

  private static void step(
      Worker worker, SlotLedger ledger, ManualClock clock, AtomicInteger holders, int max) {
    switch (worker.random.nextInt(10)) {
      case 0, 1 -> runs(worker, ledger.tryAcquire(), holders, max);
      case 2 -> runs(worker, ledger.tryAcquire(worker.attempt()) == null, holders, max);
      case 3 -> {
        AttemptId attempt = worker.attempt();
        if (ledger.reserve(attempt, TTL) instanceof ReserveResult.ReserveGranted granted) {
          worker.leases.add(granted.lease());
          worker.attempts.add(attempt);
        }
      }
      case 4 -> {
        SlotLease lease = worker.leases.poll();
        worker.attempts.poll();
        if (lease != null) {
          runs(worker, ledger.consume(lease.token(), worker.attempt()) == null, holders, max);
        }
      }
      case 5 -> {
        worker.leases.poll();
        AttemptId attempt = worker.attempts.poll();
        if (attempt != null) {
          ledger.release(attempt);
        }
      }
      case 6, 7 -> {
        if (worker.running > 0) {
          worker.running--;
          holders.decrementAndGet();
          ledger.complete();
        }
      }
      case 8 -> {
        if (worker.running > 0) {
          holders.decrementAndGet();
          SlotLease next = ledger.completeAndHold(TTL);
          if (next == null) {
            holders.incrementAndGet();
          } else {
            worker.running--;
            runs(worker, next.consume() == null, holders, max);
          }
        }
      }
      default -> {
        clock.advanceNanos(worker.random.nextInt((int) TTL / 2));
        ledger.sweep();
      }
    }
  }

  private static void runs(Worker worker, boolean granted, AtomicInteger holders, int max) {
    if (granted) {
      worker.running++;
      int now = holders.incrementAndGet();
      if (now > max) {
        throw new AssertionError("running at once: " + now + " (expected: at most " + max + ")");
      }
    }
  }

  /** What the owner last set; a grant that saw the same before and after was made under it. */
  private record Setting(int max, boolean settled) {}

  @Test
  void onceALowerMaxIsSetNothingIsGrantedAboveIt() {
    long seed = 23;
    SlotLedger ledger = Ledgers.ledger(8, new ManualClock());
    AtomicInteger holders = new AtomicInteger();
    AtomicInteger judged = new AtomicInteger();
    var setting = new java.util.concurrent.atomic.AtomicReference<>(new Setting(8, true));
    SplittableRandom[] random = new SplittableRandom[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
      random[i] = new SplittableRandom(seed + i);
    }
    int[] running = new int[WORKERS];

    Contest.run(
        WORKERS,
        Effort.times(3_000),
        new Contest.Round() {
          @Override
          public void act(int contender, int round) {
            if (contender == 0) {
              int max = random[0].nextInt(9); // 0 closes it
              setting.set(new Setting(max, false));
              ledger.setMaxOngoing(max);
              setting.set(new Setting(max, true));
              return;
            }
            for (int i = 0; i < 60; i++) {
              if (running[contender] > 0 && random[contender].nextInt(2) == 0) {
                running[contender]--;
                holders.decrementAndGet();
                ledger.complete();
              } else {
                tryOne(contender);
              }
            }
          }

          private void tryOne(int contender) {
            Setting before = setting.get();
            if (!ledger.tryAcquire()) {
              return;
            }
            running[contender]++;
            int now = holders.incrementAndGet();
            if (before.settled && before == setting.get()) {
              judged.incrementAndGet();
              if (now > before.max) {
                throw new AssertionError(
                    "running at once: " + now + " (expected: at most " + before.max + ")");
              }
            }
          }

          @Override
          public void check(int round) {
            assertThat(ledger.ongoing()).isEqualTo(holders.get());
            assertThat(LoadReport.max(ledger.load())).isEqualTo(setting.get().max);
            Ledgers.assertBalanced(ledger);
          }
        });

    assertThat(judged.get()).as("grants under a known max").isPositive();
  }

  @Test
  void onceDrainReturnsNothingIsGranted() {
    SlotLedger[] ledger = new SlotLedger[1];
    boolean[] late = new boolean[WORKERS];

    Contest.run(
        WORKERS,
        Effort.times(8_000),
        new Contest.Round() {
          private volatile boolean drained;

          @Override
          public void prepare(int round) {
            ledger[0] = Ledgers.ledger(1_000, new ManualClock());
            drained = false;
          }

          @Override
          public void act(int contender, int round) {
            if (contender == 0) {
              ledger[0].drain(Long.MAX_VALUE);
              drained = true;
              return;
            }
            for (int i = 0; i < 20; i++) {
              boolean after = drained;
              late[contender] |= ledger[0].hold(TTL) != null && after;
            }
          }

          @Override
          public void check(int round) {
            assertThat(late).containsOnly(false);
            assertThat(ledger[0].draining()).isTrue();
            Ledgers.assertBalanced(ledger[0]);
          }
        });
  }
}
