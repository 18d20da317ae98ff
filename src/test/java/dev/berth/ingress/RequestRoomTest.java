package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestRoomTest {
  private static final int PIECE = RequestMemoryBudget.PIECE_BYTES;

  @Test
  void aLoopMayTakeAllThereIs() {
    RequestMemoryBudget room = new RequestMemoryBudget(3 * PIECE + 10);
    RequestMemoryBudget.LoopMemoryShare share = room.newShare();
    assertThat(share.tryHold(3 * PIECE, 0)).isTrue();
    assertThat(share.tryHold(11, 0)).isFalse();
    assertThat(share.tryHold(10, 0)).as("less than a piece is left").isTrue();
    assertThat(room.heldBytes()).isEqualTo(3 * PIECE + 10);
  }

  @Test
  void whatALoopGivesBackAnotherMayTake() {
    RequestMemoryBudget room = new RequestMemoryBudget(10 * PIECE);
    RequestMemoryBudget.LoopMemoryShare one = room.newShare();
    RequestMemoryBudget.LoopMemoryShare other = room.newShare();
    assertThat(one.tryHold(10 * PIECE, 0)).isTrue();
    assertThat(other.tryHold(1, 0)).isFalse();
    one.release(10 * PIECE);
    assertThat(other.tryHold(9 * PIECE, 0)).as("but for the piece that a loop keeps").isTrue();
    assertThat(one.tryHold(PIECE, 0)).as("which it has").isTrue();
  }

  @Test
  void aConnectionMayHoldAThirtySecondOfWhatIsLeft() {
    RequestMemoryBudget.LoopMemoryShare share = new RequestMemoryBudget(100 * PIECE).newShare();
    assertThat(share.tryHold(4 * PIECE, 3 * PIECE)).isTrue();
    assertThat(share.tryHold(1, 4 * PIECE)).as("96 are left").isFalse();
    assertThat(share.tryHold(1, 3 * PIECE)).isTrue();
  }

  @Test
  void manyGreedyConnectionsLeaveRoomForANewOne() {
    RequestMemoryBudget.LoopMemoryShare share = new RequestMemoryBudget(2_000L * 1024).newShare();
    for (int connection = 0; connection < 60; connection++) {
      long own = 0;
      while (own < 1_000 * 1024 && share.tryHold(1024, own)) {
        own += 1024;
      }
    }
    assertThat(share.tryHold(1024, 0)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void whateverComesTheLimitHoldsAndAtRestNothingIsHeld(long seed) {
    long limit = 50L * PIECE;
    RequestMemoryBudget room = new RequestMemoryBudget(limit);
    List<RequestMemoryBudget.LoopMemoryShare> shares =
        List.of(room.newShare(), room.newShare(), room.newShare());
    List<List<Integer>> held = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    Random random = new Random(seed);
    for (int step = 0; step < 20_000; step++) {
      int loop = random.nextInt(3);
      List<Integer> mine = held.get(loop);
      if (random.nextBoolean()) {
        int bytes = 1 + random.nextInt(3 * PIECE);
        if (shares.get(loop).tryHold(bytes, 0)) {
          mine.add(bytes);
        }
      } else if (!mine.isEmpty()) {
        shares.get(loop).release(mine.remove(random.nextInt(mine.size())));
      }
      long sum = held.stream().flatMap(List::stream).mapToLong(bytes -> bytes).sum();
      assertThat(room.heldBytes()).as("seed %s, step %s", seed, step).isEqualTo(sum);
      assertThat(sum).isLessThanOrEqualTo(limit);
    }
    for (int loop = 0; loop < 3; loop++) {
      held.get(loop).forEach(shares.get(loop)::release);
    }
    assertThat(room.heldBytes()).isZero();
  }
}
