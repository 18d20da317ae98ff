package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PendingTableTest {

  @Test
  void aLateAnswerNamesAnOldGenerationAndFindsNothing() {
    PendingTable<String> table = new PendingTable<>(1, 7);
    long first = table.add("first");
    table.remove(first);
    long second = table.add("second");
    assertThat((int) second).as("the same slot").isEqualTo((int) first);
    assertThat(table.get(first)).isNull();
    assertThat(table.remove(first)).isNull();
    assertThat(table.get(second)).isEqualTo("second");
  }

  @Test
  void aForeignIdFindsNothing() {
    PendingTable<String> table = new PendingTable<>(10, 7);
    table.add("x");
    assertThat(table.get(PendingTable.FULL)).isNull();
    assertThat(table.get(Long.MAX_VALUE)).isNull();
    assertThat(table.get(5_000)).isNull();
    assertThat(table.get(Long.MIN_VALUE)).isNull();
  }

  @Test
  void visitorsMayRemove() {
    PendingTable<Integer> table = new PendingTable<>(1000, 7);
    Map<Integer, Long> ids = new HashMap<>();
    for (int i = 0; i < 600; i++) {
      ids.put(i, table.add(i));
    }
    table.forEach(entry -> table.remove(ids.get(entry)));
    assertThat(table.size()).isZero();
  }

  @Test
  void agreesWithAMap() {
    PendingTable<Integer> table = new PendingTable<>(700, 7);
    Map<Long, Integer> model = new HashMap<>();
    Random random = new Random(5);
    for (int step = 0; step < 50_000; step++) {
      if (random.nextInt(100) < 55) {
        long id = table.add(step);
        if (model.size() == 700) {
          assertThat(id).isEqualTo(PendingTable.FULL);
        } else {
          assertThat(model.put(id, step)).as("ids are not given twice").isNull();
        }
      } else if (!model.isEmpty()) {
        long id = model.keySet().iterator().next();
        assertThat(table.remove(id)).isEqualTo(model.remove(id));
      }
      assertThat(table.size()).isEqualTo(model.size());
    }
    model.forEach((id, entry) -> assertThat(table.get(id)).isEqualTo(entry));
  }

  @Test
  void theBoundIsWhatReplicasCanIndex() {
    assertThatIllegalArgumentException().isThrownBy(() -> new PendingTable<>(65_537, 7));
    assertThatIllegalArgumentException().isThrownBy(() -> new PendingTable<>(0, 7));
  }

  /** Found by the simulation, seed 174: a restarted router took answers to its predecessor. */
  @Test
  void anIdOfAnEarlierStartFindsNothing() {
    PendingTable<Integer> before = new PendingTable<>(600, 0x1234_5678_9ABCL);
    PendingTable<Integer> after = new PendingTable<>(600, 0x5678_1234_9ABDL);
    for (int i = 0; i < 600; i++) {
      long old = before.add(i);
      assertThat(after.add(i)).isNotEqualTo(old).isPositive();
      assertThat(after.get(old)).isNull();
    }
  }
}
