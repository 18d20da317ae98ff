package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class AnswerRoomTest {
  private static final long MIB = 1 << 20;
  private static final long LATE = ResponseMemoryBudget.WAIT_NANOS;

  private final ResponseMemoryBudget room = new ResponseMemoryBudget(8 * MIB);
  private final ResponseMemoryBudget.ResponseMemoryQueue<String> queue =
      room.new ResponseMemoryQueue<>();
  private final ResponseSizeEstimator sizes = new ResponseSizeEstimator();
  private final List<String> started = new ArrayList<>();

  private long take(String path) {
    return take(path, path);
  }

  private long take(String request, String path) {
    return queue.take(request, sizes, path, 0);
  }

  private void look(long now) {
    queue.look(now, (path, bytes) -> started.add(path + (bytes < 0 ? " no" : " " + bytes / MIB)));
  }

  @Test
  void aPathWhoseAnswersAreSmallTakesNothingAndNeverWaits() {
    sizes.recordSize("/hi", 10);
    sizes.recordSize("/large", 8 * MIB);
    assertThat(take("/large")).isEqualTo(4 * MIB);
    assertThat(take("/large")).isEqualTo(4 * MIB);
    assertThat(take("/large")).isNegative();
    assertThat(take("/hi")).isZero();
  }

  @Test
  void aStreamIsNotExpectedToBeLarge() {
    sizes.recordSize("/events", -1);
    assertThat(take("/events")).isZero();
  }

  @Test
  void aPathOfWhichNothingIsKnownIsTakenForTheLargest() {
    assertThat(take("/new")).isEqualTo(MIB);
    sizes.recordSize("/large", 3 * MIB);
    assertThat(take("/other")).isEqualTo(4 * MIB);
  }

  @Test
  void whatShrinksIsBelievedByHalves() {
    sizes.recordSize("/a", 4 * MIB);
    sizes.recordSize("/a", 10);
    assertThat(take("/a")).isEqualTo(2 * MIB);
  }

  @Test
  void unknownOnesHaveAsMuchAgain() {
    sizes.recordSize("/large", 8 * MIB);
    take("/large");
    take("/large");
    sizes.recordSize("/large", 10);
    assertThat(take("/new")).isEqualTo(4 * MIB);
    assertThat(take("/new")).isEqualTo(4 * MIB);
    assertThat(take("/new")).isNegative();
  }

  @Test
  void whoWaitsStartsInTurnWhenRoomIsGivenBack() {
    sizes.recordSize("/a", 4 * MIB);
    sizes.recordSize("/b", 2 * MIB);
    long held = take("/a") + take("/a");
    assertThat(take("/a")).isNegative();
    assertThat(take("/b")).as("behind it").isNegative();
    assertThat(room.needed()).isEqualTo(6 * MIB);
    room.bytes.take(-2 * MIB);
    look(0);
    assertThat(started).as("the first does not fit yet").isEmpty();
    room.bytes.take(-(held - 2 * MIB));
    look(0);
    assertThat(started).containsExactly("/a 4", "/b 2");
    assertThat(room.bytes.inUse()).isEqualTo(6 * MIB);
    assertThat(room.needed()).isZero();
  }

  @Test
  void whoWaitedTooLongIsRefused() {
    sizes.recordSize("/large", 8 * MIB);
    take("/large");
    take("/large");
    assertThat(take("/large")).isNegative();
    look(LATE - 1);
    assertThat(started).isEmpty();
    look(LATE);
    assertThat(started).containsExactly("/large no");
    assertThat(room.needed()).isZero();
  }

  @Test
  void whoLeavesWaitsForNothingAndHoldsNobodyUp() {
    sizes.recordSize("/a", 4 * MIB);
    sizes.recordSize("/b", 2 * MIB);
    long held = take("/a") + take("/a") - 2 * MIB;
    assertThat(take("gone", "/a")).isNegative();
    assertThat(take("/b")).as("behind it").isNegative();
    room.bytes.take(-2 * MIB);
    assertThat(room.wanted).hasValue(6 * MIB);
    queue.forget("gone");
    queue.forget("gone");
    assertThat(room.wanted).hasValue(2 * MIB);
    look(0);
    assertThat(started).containsExactly("/b 2");
    assertThat(room.bytes.inUse()).isEqualTo(held + 2 * MIB);
    assertThat(room.needed()).isZero();
  }

  @Test
  void whoWaitedTooLongAndMayBeSmallIsLetGo() {
    for (int i = 0; i < 16; i++) {
      take("/slow");
    }
    assertThat(take("/slow")).isNegative();
    look(LATE);
    assertThat(started).containsExactly("/slow 0");
  }

  @Test
  void whoWaitedAndTurnsOutToBeSmallIsLetGo() {
    for (int i = 0; i < 16; i++) {
      assertThat(take("/slow")).isPositive();
    }
    assertThat(take("/slow")).isNegative();
    sizes.recordSize("/slow", 5);
    look(0);
    assertThat(started).containsExactly("/slow 0");
    assertThat(room.needed()).isEqualTo(8 * MIB);
  }

  @Test
  void whatIsThereIsCountedThoughItWasNotExpected() {
    sizes.recordSize("/a", MIB);
    long expected = take("/a");
    room.bytes.take(20 * MIB - expected);
    assertThat(room.needed()).isEqualTo(12 * MIB);
    assertThat(take("/a")).isNegative();
  }

  @Test
  void allIsGivenBackWhateverTheOrder() {
    Random random = new Random(7);
    List<Long> held = new ArrayList<>();
    for (int step = 0; step < 20_000; step++) {
      String path = "/" + random.nextInt(40);
      if (random.nextInt(3) > 0) {
        long bytes = queue.take("request " + step, sizes, path, step);
        if (bytes >= 0) {
          held.add(bytes);
        }
      } else if (random.nextInt(8) == 0) {
        queue.forget("request " + (step - random.nextInt(20))); // waits, runs, or never was
      } else if (!held.isEmpty()) {
        room.bytes.take(-held.remove(random.nextInt(held.size())));
        sizes.recordSize(path, random.nextInt(3) == 0 ? random.nextLong(9 * MIB) : 100);
      }
      queue.look(step, (request, bytes) -> held.add(Math.max(0, bytes)));
      assertThat(room.bytes.inUse()).isLessThanOrEqualTo(16 * MIB);
      assertThat(room.bytes.inUse()).isEqualTo(held.stream().mapToLong(each -> each).sum());
    }
    queue.look(LATE + 20_000, (request, bytes) -> held.add(Math.max(0, bytes)));
    held.forEach(bytes -> room.bytes.take(-bytes));
    assertThat(queue.isEmpty()).isTrue();
    assertThat(room.bytes.inUse()).isZero();
    assertThat(room.wanted).hasValue(0);
  }
}
