package dev.berth.replica.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.ReserveResult;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Long random walks over everything a ledger can be asked, each answer compared with the simplest
 * model there is: a list of leases and four numbers. The seed is the test's argument.
 */
class SlotLedgerWalkTest {
  private static final int STEPS = 20_000;
  private static final long TTL = 1_000;

  /** A lease as the model sees it. */
  private static final class ModelLease {
    final SlotLease lease;
    final @Nullable AttemptId attempt;
    long deadline;
    @Nullable Refusal ended; // how, or null while it is held

    ModelLease(SlotLease lease, @Nullable AttemptId attempt, long deadline) {
      this.lease = lease;
      this.attempt = attempt;
      this.deadline = deadline;
    }
  }

  private enum Step {
    ACQUIRE,
    ACQUIRE_ATTEMPT,
    RESERVE,
    REPEAT_RESERVE,
    HOLD,
    HAND_OFF,
    COMPLETE,
    CONSUME,
    CONSUME_TOKEN,
    RELEASE,
    RELEASE_ATTEMPT,
    RELEASE_UNKNOWN,
    LATE_AFTER_RELEASE,
    RENEW,
    TIME,
    SWEEP,
    MAX,
    DRAIN
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 5, 8, 13, 21, 34})
  void aLedgerAnswersAsTheModelDoes(long seed) {
    new Walk(seed).run();
  }

  private static final class Walk {
    final SplittableRandom random;
    final ManualClock clock = new ManualClock();
    final SlotLedger ledger;
    final Map<Step, Integer> taken = new EnumMap<>(Step.class);
    final List<AttemptId> tombstones = new ArrayList<>();
    final Ledgers.Freed freedTold = new Ledgers.Freed();

    // the model
    final List<ModelLease> leases = new ArrayList<>(); // held, and lately ended
    final Map<String, Integer> ends = new HashMap<>();
    int max = 4;
    int running;
    boolean draining;
    long drained; // when the drain is over
    int grants;
    int freed;
    long attempts;

    Walk(long seed) {
      random = new SplittableRandom(seed);
      ledger =
          Ledgers.ledger(max, new LedgerLimits(TTL, 1L << 40, 1 << 20, 1L << 40, 1 << 20), clock);
      ledger.observe(freedTold);
    }

    void run() {
      Step[] steps = Step.values();
      for (int i = 0; i < STEPS; i++) {
        Step step = steps[random.nextInt(steps.length)];
        if (step == Step.DRAIN && i < STEPS * 3 / 4) {
          continue; // else nothing would be granted for most of the walk
        }
        long before = ledger.load();
        taken.merge(step, 1, Integer::sum);
        take(step);
        check(i, step, before);
        forgetEnded();
      }
      assertThat(taken.keySet()).as("steps taken").containsExactlyInAnyOrder(steps);
      finish();
    }

    private long now() {
      return clock.getAsLong();
    }

    private int held() {
      return (int) leases.stream().filter(lease -> lease.ended == null).count();
    }

    private @Nullable Refusal expected() {
      if (draining) {
        return Refusal.DRAINING;
      }
      return running + held() >= max ? Refusal.FULL : null;
    }

    private AttemptId attempt() {
      return new AttemptId(1, 0, ++attempts);
    }

    private @Nullable ModelLease anyLease() {
      return leases.isEmpty() ? null : leases.get(random.nextInt(leases.size()));
    }

    private void end(ModelLease lease, Refusal how) {
      lease.ended = how;
      if (how == Refusal.ALREADY_USED) {
        running++;
      } else {
        freed++;
        ends.merge(how == Refusal.EXPIRED ? "expired" : "released", 1, Integer::sum);
      }
    }

    private void released(ModelLease lease, boolean answer) {
      assertThat(answer).isEqualTo(lease.ended == null);
      if (answer) {
        end(lease, Refusal.RELEASED);
      }
    }

    private void take(Step step) {
      switch (step) {
        case ACQUIRE -> {
          Refusal expected = expected();
          assertThat(ledger.tryAcquire()).isEqualTo(expected == null);
          grantedRunning(expected);
        }
        case ACQUIRE_ATTEMPT -> {
          AttemptId attempt = attempt();
          Refusal expected = expected();
          assertThat(ledger.tryAcquire(attempt)).isEqualTo(expected);
          grantedRunning(expected);
          assertThat(ledger.tryAcquire(attempt)).isEqualTo(Refusal.REVOKED);
        }
        case RESERVE -> reserve(attempt());
        case REPEAT_RESERVE -> repeatReserve();
        case HOLD -> {
          Refusal expected = expected();
          long ttl = ttl();
          SlotLease lease = ledger.hold(ttl);
          assertThat(lease == null).isEqualTo(expected != null);
          grantedLease(lease, null, ttl);
        }
        case HAND_OFF -> handOff();
        case COMPLETE -> {
          if (running > 0) {
            ledger.complete();
            running--;
            freed++;
            ends.merge("completed", 1, Integer::sum);
          }
        }
        case CONSUME -> consume(false);
        case CONSUME_TOKEN -> consume(true);
        case RELEASE -> {
          ModelLease lease = anyLease();
          if (lease != null) {
            released(lease, lease.lease.release());
          }
        }
        case RELEASE_ATTEMPT -> {
          ModelLease lease = anyLease();
          if (lease != null && lease.attempt != null) {
            released(lease, ledger.release(lease.attempt));
          }
        }
        case RELEASE_UNKNOWN -> {
          AttemptId attempt = attempt();
          assertThat(ledger.release(attempt)).isFalse();
          tombstones.add(attempt);
        }
        case LATE_AFTER_RELEASE -> {
          if (!tombstones.isEmpty()) {
            AttemptId late = tombstones.remove(random.nextInt(tombstones.size()));
            assertThat(ledger.reserve(late, TTL))
                .isEqualTo(new ReserveResult.ReserveRefused(Refusal.REVOKED));
          }
        }
        case RENEW -> renew();
        case TIME -> clock.advanceNanos(random.nextInt((int) TTL / 4));
        case SWEEP -> {
          ledger.sweep();
          for (ModelLease lease : leases) {
            if (lease.ended == null && lease.deadline - now() <= 0) {
              end(lease, Refusal.EXPIRED);
            }
          }
        }
        case MAX -> {
          int next = random.nextInt(7); // 0 closes it
          freed += next > max || (next == 0 && max > 0) ? 1 : 0;
          max = next;
          ledger.setMaxOngoing(next);
        }
        case DRAIN -> {
          draining = true;
          drained = now() + random.nextLong(4 * TTL);
          ledger.drain(drained);
        }
      }
    }

    private long ttl() {
      return random.nextLong(1, 2 * TTL);
    }

    private void grantedRunning(@Nullable Refusal refused) {
      if (refused == null) {
        grants++;
        running++;
      }
    }

    private void grantedLease(@Nullable SlotLease lease, @Nullable AttemptId attempt, long ttl) {
      if (lease != null) {
        grants++;
        leases.add(new ModelLease(lease, attempt, now() + Math.min(ttl, TTL)));
      }
    }

    private void reserve(AttemptId attempt) {
      Refusal expected = expected();
      long ttl = ttl();
      ReserveResult answer = ledger.reserve(attempt, ttl);
      if (expected != null) {
        assertThat(answer).isEqualTo(new ReserveResult.ReserveRefused(expected));
        return;
      }
      grantedLease(Ledgers.granted(answer), attempt, ttl);
    }

    private void repeatReserve() {
      ModelLease lease = anyLease();
      if (lease == null || lease.attempt == null) {
        return;
      }
      ReserveResult answer = ledger.reserve(lease.attempt, ttl());
      Refusal expected = lease.ended;
      if (expected == null && lease.deadline - now() <= 0) {
        expected = Refusal.EXPIRED;
      }
      if (expected != null) {
        assertThat(answer).isEqualTo(new ReserveResult.ReserveRefused(expected));
      } else {
        assertThat(((ReserveResult.ReserveGranted) answer).lease()).isSameAs(lease.lease);
      }
      settleIfLedgerDid(lease);
    }

    private void handOff() {
      if (running == 0) {
        return;
      }
      boolean expected = !draining && running + held() <= max;
      long ttl = ttl();
      SlotLease lease = ledger.completeAndHold(ttl);
      assertThat(lease != null).isEqualTo(expected);
      if (lease != null) {
        running--;
        ends.merge("completed", 1, Integer::sum);
        grantedLease(lease, null, ttl);
      }
    }

    private void consume(boolean byToken) {
      ModelLease lease = anyLease();
      if (lease == null) {
        return;
      }
      SlotToken token = lease.lease.token();
      Refusal answer = byToken ? ledger.consume(token, attempt()) : lease.lease.consume();
      if (lease.ended != null) {
        assertThat(answer).isEqualTo(lease.ended);
      } else if (lease.deadline - now() <= 0) {
        assertThat(answer).isEqualTo(Refusal.EXPIRED);
        end(lease, Refusal.EXPIRED);
      } else {
        assertThat(answer).isNull();
        end(lease, Refusal.ALREADY_USED);
      }
    }

    private void renew() {
      ModelLease lease = anyLease();
      if (lease == null) {
        return;
      }
      long ttl = ttl();
      boolean past = lease.deadline - now() <= 0;
      boolean answer = lease.lease.renew(ttl);
      assertThat(answer).isEqualTo(lease.ended == null && !past);
      if (answer) {
        long later = now() + Math.min(ttl, TTL);
        later = draining && later - drained > 0 ? drained : later;
        lease.deadline = later - lease.deadline > 0 ? later : lease.deadline;
        assertThat(lease.lease.deadlineNanos()).isEqualTo(lease.deadline);
      }
      settleIfLedgerDid(lease);
    }

    /** Who looks at a lease past its deadline may end it, or leave that to the sweep. */
    private void settleIfLedgerDid(ModelLease lease) {
      if (lease.ended == null && lease.deadline - now() <= 0 && ledger.reserved() == held() - 1) {
        end(lease, Refusal.EXPIRED);
      }
    }

    private void check(int i, Step step, long before) {
      String at = "after step " + i + " " + step;
      assertThat(ledger.running()).as(at).isEqualTo(running);
      assertThat(ledger.reserved()).as(at).isEqualTo(held());
      assertThat(ledger.ongoing()).as(at).isEqualTo(running + held());
      assertThat(ledger.maxOngoing()).as(at).isEqualTo(max);
      assertThat(ledger.draining()).as(at).isEqualTo(draining);
      assertThat(freedTold.ongoingWhenTold).as("freed told " + at).hasSize(freed);
      long load = ledger.load();
      assertThat(LoadReport.ongoing(load)).as(at).isEqualTo(running + held());
      if (load != before) {
        assertThat(LoadReport.isNewer(load, before)).as("newer " + at).isTrue();
      }
      if (i % 50 == 0) {
        checkCounters(at);
      }
    }

    private void checkCounters(String at) {
      var view = ledger.view("r", 0);
      assertThat(view.granted()).as(at).isEqualTo(grants);
      assertThat(view.completed()).as(at).isEqualTo(ends.getOrDefault("completed", 0).longValue());
      assertThat(view.released()).as(at).isEqualTo(ends.getOrDefault("released", 0).longValue());
      assertThat(view.expired()).as(at).isEqualTo(ends.getOrDefault("expired", 0).longValue());
      Ledgers.assertBalanced(ledger);
    }

    private void forgetEnded() {
      if (leases.size() > 40) {
        leases.removeIf(lease -> lease.ended != null);
      }
    }

    private void finish() {
      clock.advanceNanos(TTL);
      take(Step.SWEEP);
      while (running > 0) {
        take(Step.COMPLETE);
      }
      checkCounters("at the end");
      Ledgers.assertAtRest(ledger);
    }
  }
}
