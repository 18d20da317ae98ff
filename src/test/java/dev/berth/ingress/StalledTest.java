package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Who stands still, and who of them is cut for the room of others. */
class StalledTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long NOW = Long.MAX_VALUE - 5; // the clock's origin is nobody's business

  private final List<EvictableResponse<String>> table = new ArrayList<>();

  private StalledTest add(String connection, String answer, long bytes, double seconds) {
    table.add(new EvictableResponse<>(connection, answer, bytes, NOW - (long) (seconds * SECOND)));
    return this;
  }

  private List<String> victims(long needed, long elsewhere) {
    return EvictableResponse.victims(table, NOW, needed, elsewhere).stream()
        .map(EvictableResponse::answer)
        .toList();
  }

  @Test
  void theOldestOfTheConnectionThatHoldsMostIsCut() {
    add("a", "a1", 50, 9).add("b", "b1", 30, 2).add("b", "b2", 30, 3);
    assertThat(EvictableResponse.most(table, NOW)).isEqualTo(60);
    assertThat(victims(1, 0)).containsExactly("b2");
  }

  @Test
  void asManyAreCutAsAreNeeded() {
    add("a", "a1", 50, 9).add("b", "b1", 30, 2).add("b", "b2", 30, 3).add("c", "c1", 10, 5);
    assertThat(victims(0, 0)).isEmpty();
    assertThat(victims(30, 0)).containsExactly("b2");
    assertThat(victims(31, 0)).containsExactly("b2", "a1");
    assertThat(victims(1_000, 0)).containsExactly("b2", "a1", "b1", "c1");
  }

  @Test
  void whoHasNotStoodStillForASecondIsSpared() {
    add("a", "a1", 1_000, 0.99).add("b", "b1", 10, 1);
    assertThat(EvictableResponse.most(table, NOW)).isEqualTo(10);
    assertThat(victims(500, 0)).containsExactly("b1");
  }

  @Test
  void whoHoldsLessThanAnotherLoopsConnectionIsSpared() {
    add("a", "a1", 30, 2).add("a", "a2", 30, 2).add("b", "b1", 40, 2);
    assertThat(victims(1_000, 61)).isEmpty();
    assertThat(victims(1_000, 60)).containsExactly("a1");
    assertThat(victims(1_000, 35)).containsExactly("a1", "b1");
  }

  @Test
  void whoTakesAKibibyteASecondNeverStandsStill() {
    WriteStall stall = new WriteStall(0, 0);
    for (int tenth = 1; tenth < 100; tenth++) {
      stall.look(tenth * 110L, tenth * SECOND / 10);
      assertThat(tenth * SECOND / 10 - stall.sinceNanos()).isLessThan(SECOND);
    }
  }

  @Test
  void whoTakesAByteNowAndThenStandsStill() {
    WriteStall stall = new WriteStall(0, 0);
    for (int tenth = 1; tenth < 100; tenth++) {
      stall.look(tenth / 9, tenth * SECOND / 10);
    }
    assertThat(stall.sinceNanos()).isZero();
  }

  @Test
  void aCountThatBeginsAnewIsProgress() {
    WriteStall stall = new WriteStall(16_000, 0);
    stall.look(0, SECOND);
    assertThat(stall.sinceNanos()).isEqualTo(SECOND);
  }
}
