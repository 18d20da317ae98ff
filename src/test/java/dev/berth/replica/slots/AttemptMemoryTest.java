package dev.berth.replica.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.AttemptId;
import org.junit.jupiter.api.Test;

class AttemptMemoryTest {
  private static final long REMEMBER = 1000;
  private static final AttemptId ATTEMPT = new AttemptId(1, 2, 3);

  private final AttemptMemory memory = new AttemptMemory(new LedgerLimits(1, REMEMBER, 2));

  @Test
  void anAttemptIsRememberedForAllOfItsTimeAndNoLonger() {
    memory.attempts.putIfAbsent(ATTEMPT, AttemptMemory.Mark.SEEN);
    memory.attemptEnded(ATTEMPT, 500);

    memory.forget(500 + REMEMBER - 1);
    assertThat(memory.attempts.get(ATTEMPT)).isEqualTo(AttemptMemory.Mark.SEEN);
    memory.forget(500 + REMEMBER);
    assertThat(memory.attempts.get(ATTEMPT)).isNull();
    assertThat(memory.size()).isZero();
  }
}
