package dev.berth.replica.slots;

import static dev.berth.replica.slots.Ledgers.granted;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.ReserveResult;
import dev.berth.replica.slots.Ledgers.Freed;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** One lease, and everyone who may end it, at the same time. */
@Tag("concurrency")
class LeaseRaceTest {
  private static final long TTL = 100;
  private static final int CONTENDERS = 4;

  /** Of so many rounds a few are decided beforehand, so that each end is seen on any machine. */
  private static final int KINDS = 16;

  private static final int CONSUME_WINS = 0;
  private static final int RELEASE_WINS = 1;
  private static final int EXPIRY_WINS = 2;

  private static boolean standsAside(int contender, int round) {
    return switch (round % KINDS) {
      case CONSUME_WINS -> contender == 1 || contender == 3;
      case RELEASE_WINS -> contender == 0 || contender == 3;
      case EXPIRY_WINS -> contender == 1;
      default -> false;
    };
  }

  /** Who ended how many leases. */
  private int consumed;

  private int released;
  private int expired;

  @Test
  void ofConsumeReleaseAndExpiryExactlyOneWinsAndTheSlotMovesOnce() {
    ManualClock clock = new ManualClock();
    SlotLedger ledger = Ledgers.ledger(1, clock);
    Freed freed = new Freed();
    ledger.observe(freed);
    boolean[] won = new boolean[CONTENDERS];

    Contest.run(
        CONTENDERS,
        Effort.times(20_000),
        60,
        new Contest.Round() {
          private AttemptId attempt = new AttemptId(1, 0, -1);
          private SlotLease lease;
          private SlotToken token;
          private long stampBefore;
          private long expiredBefore;

          @Override
          public void prepare(int round) {
            attempt = new AttemptId(1, 0, round);
            freed.ongoingWhenTold.clear();
            stampBefore = Ledgers.stamp(ledger);
            expiredBefore = ledger.view("r", 0).expired();
            lease = granted(ledger.reserve(attempt, TTL));
            token = lease.token();
            if (round % KINDS == EXPIRY_WINS) {
              clock.advanceNanos(TTL);
            }
          }

          @Override
          public void act(int contender, int round) {
            won[contender] = false;
            if (standsAside(contender, round)) {
              return;
            }
            won[contender] =
                switch (contender) {
                  case 0 -> ledger.consume(token, new AttemptId(2, 0, round)) == null;
                  case 1 -> ledger.release(attempt);
                  case 2 -> {
                    ledger.sweep();
                    yield false; // seen in the counter
                  }
                  default -> {
                    clock.advanceNanos(TTL);
                    yield false;
                  }
                };
          }

          @Override
          public void check(int round) {
            if (!won[0] && !won[1]) {
              ledger.sweep(); // the sweep of this round may have come before the deadline
            }
            boolean ranOut = ledger.view("r", 0).expired() > expiredBefore;
            int winners = (won[0] ? 1 : 0) + (won[1] ? 1 : 0) + (ranOut ? 1 : 0);
            assertThat(winners).as("winners: consume, release, expiry").isEqualTo(1);
            assertThat(Ledgers.stamp(ledger) - stampBefore).as("moves of the slot").isEqualTo(2);
            assertThat(freed.ongoingWhenTold).as("told of a free slot").hasSize(won[0] ? 0 : 1);
            assertThat(ledger.running()).isEqualTo(won[0] ? 1 : 0);
            assertThat(ledger.reserved()).isZero();
            Ledgers.assertBalanced(ledger);
            if (won[0]) {
              ledger.complete();
            }
            consumed += won[0] ? 1 : 0;
            released += won[1] ? 1 : 0;
            expired += ranOut ? 1 : 0;
          }
        });

    Ledgers.assertAtRest(ledger);
    assertThat(consumed).as("rounds won by consume").isPositive();
    assertThat(released).as("rounds won by release").isPositive();
    assertThat(expired).as("rounds won by expiry").isPositive();
  }

  @Test
  void aReleaseThatRacesItsReserveLeavesNoSlotBehind() {
    SlotLedger ledger = Ledgers.ledger(2, new ManualClock());
    ReserveResult[] answers = new ReserveResult[2];
    int[] revoked = {0};

    Contest.run(
        3,
        Effort.times(20_000),
        new Contest.Round() {
          @Override
          public void prepare(int round) {
            if (round % KINDS == RELEASE_WINS) {
              ledger.release(new AttemptId(1, 0, round));
            }
          }

          @Override
          public void act(int contender, int round) {
            AttemptId attempt = new AttemptId(1, 0, round);
            if (contender < 2) { // the reserve and its duplicate
              answers[contender] = ledger.reserve(attempt, 1L << 40);
            } else {
              ledger.release(attempt);
            }
          }

          @Override
          public void check(int round) {
            // Whoever gave up has released; a grant that was made all the same is over or is ended
            // by the release of whoever gets the late answer.
            for (ReserveResult answer : answers) {
              if (answer instanceof ReserveResult.ReserveGranted granted) {
                granted.lease().release();
              } else {
                revoked[0]++;
              }
            }
            Ledgers.assertAtRest(ledger);
          }
        });

    assertThat(revoked[0]).as("reserves that came after their release").isPositive();
  }
}
