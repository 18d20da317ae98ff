package dev.berth.replica.slots;

import static dev.berth.protocol.port.AttemptState.FORGOTTEN;
import static dev.berth.protocol.port.AttemptState.GRANTED;
import static dev.berth.protocol.port.AttemptState.NEVER;
import static dev.berth.protocol.port.AttemptState.REFUSED;
import static dev.berth.protocol.port.AttemptState.REVOKED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.port.AttemptState;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AttemptMemoryTest {
  private static final long REMEMBER = 1000;
  private static final long IDLE = 5000;

  private final AttemptDeduplicator memory = memory(1 << 20);
  private long now = 500;

  private static AttemptDeduplicator memory(int places) {
    return new AttemptDeduplicator(new LedgerLimits(1, IDLE, 2, REMEMBER, places));
  }

  private static AttemptId attempt(long counter) {
    return new AttemptId(1, 2, counter);
  }

  private AttemptState note(long counter, AttemptState becomes) {
    return memory.note(attempt(counter), becomes, now);
  }

  private void pass(long nanos) {
    now += nanos;
    memory.forget(now);
  }

  @Test
  void anAttemptIsRememberedForAllOfItsTimeAndForgottenInTwice() {
    note(1, GRANTED);
    pass(REMEMBER - 1);
    note(3, REVOKED);
    pass(1);
    pass(REMEMBER - 1);
    assertThat(memory.state(attempt(1))).isEqualTo(GRANTED);
    assertThat(memory.state(attempt(3))).isEqualTo(REVOKED);
    pass(1);
    assertThat(memory.state(attempt(3))).isEqualTo(FORGOTTEN);
    assertThat(memory.attempts()).isZero();
  }

  @Test
  void whatIsOlderThanWhatWasForgottenIsForgottenTooAndWhatIsYoungerHasNotCome() {
    note(7, GRANTED);
    pass(REMEMBER);
    note(9, GRANTED);
    pass(REMEMBER);

    assertThat(note(6, GRANTED)).as("never came, and is too old to be sure").isEqualTo(FORGOTTEN);
    assertThat(note(8, GRANTED)).isEqualTo(NEVER);
    assertThat(note(9, GRANTED)).isEqualTo(GRANTED);
    assertThat(memory.state(new AttemptId(1, 3, 6))).as("of another loop").isEqualTo(NEVER);
    assertThat(memory.state(new AttemptId(2, 2, 6))).as("of another start").isEqualTo(NEVER);
  }

  @Test
  void oneThatWasRefusedAfterAllIsKnownAsSuch() {
    note(1, GRANTED);
    memory.markRefused(attempt(1));
    memory.markRefused(attempt(2));
    memory.markRefused(new AttemptId(8, 8, 8));
    assertThat(memory.state(attempt(1))).isEqualTo(REFUSED);
    assertThat(memory.state(attempt(2))).isEqualTo(NEVER);
  }

  @Test
  void withoutRoomTheOldestAreForgottenBeforeTheirTimeAndGrantedNothing() {
    AttemptDeduplicator small = memory(64);
    for (int i = 1; i <= 1000; i++) {
      assertThat(small.note(attempt(i), GRANTED, now)).isEqualTo(NEVER);
    }
    assertThat(small.attempts()).isBetween(48, 64);
    assertThat(small.forgottenEarly.sum()).isEqualTo(1000 - small.attempts());
    for (int i = 1; i <= 1000; i++) {
      assertThat(small.note(attempt(i), GRANTED, now)).isIn(FORGOTTEN, GRANTED);
    }
    AttemptId other = new AttemptId(9, 9, 1);
    assertThat(small.note(other, GRANTED, now)).as("of a new router").isEqualTo(NEVER);
  }

  @Test
  void placesComeBackWhenLessIsRemembered() {
    AttemptDeduplicator small = memory(1040);
    for (int i = 1; i <= 1000; i++) {
      small.note(attempt(i), GRANTED, now);
    }
    assertThat(small.hasRoom(17)).isFalse();
    small.forget(now + REMEMBER);
    small.forget(now + 2 * REMEMBER);
    assertThat(small.hasRoom(1024)).isTrue();
    small.forget(now + 3 * REMEMBER + IDLE);
    assertThat(small.hasRoom(1040)).as("the router is forgotten").isTrue();
    assertThat(small.note(attempt(1), GRANTED, now)).isEqualTo(NEVER);
  }

  @Test
  void moreRoutersThanMayBeAreGrantedNothing() {
    for (int i = 0; i < AttemptDeduplicator.MAX_ROUTERS; i++) {
      assertThat(memory.note(new AttemptId(i, 0, 1), GRANTED, now)).isEqualTo(NEVER);
    }
    assertThat(note(1, GRANTED)).isEqualTo(FORGOTTEN);
    assertThat(memory.forgottenEarly.sum()).isOne();
  }

  /** Against a map: attempts come nearly in order, some late, some twice. */
  @Test
  void itKnowsWhatAMapWouldKnowOfTheYoung() {
    Random random = new Random(7);
    Map<Long, AttemptState> model = new HashMap<>();
    AttemptState[] marks = {GRANTED, REFUSED, REVOKED};
    for (int i = 0; i < 50_000; i++) {
      long counter = Math.max(1, i - random.nextInt(40)) * 3L + random.nextInt(3);
      AttemptState mark = marks[random.nextInt(marks.length)];
      AttemptState known = note(counter, mark);
      if (known != FORGOTTEN) {
        AttemptState before = model.putIfAbsent(counter, mark);
        assertThat(known).isEqualTo(before == null ? NEVER : before);
      } else {
        assertThat(counter).as("at step %d, remembered %d steps", i, REMEMBER).isLessThan(3 * i);
      }
      assertThat(known == FORGOTTEN && counter > 3 * (i - REMEMBER)).as("too soon").isFalse();
      pass(1);
    }
    assertThat(memory.attempts()).isLessThan((int) (3 * REMEMBER));
  }
}
