package dev.berth.desired;

import static dev.berth.desired.Rollbacks.rollback;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.Jar;
import dev.berth.desired.DesiredApplication.Before;
import dev.berth.desired.DesiredApplication.Wanted;
import dev.berth.desired.DesiredState.Mark;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HistoryTest {
  private final List<DesiredChange> changes = new ArrayList<>();
  private DesiredState state = DesiredState.EMPTY;

  private static Wanted wanted(String says, int chars) {
    String config = "{\"says\":\"" + says + "\",\"x\":\"" + "x".repeat(chars) + "\"}";
    return new Wanted("/" + says, config, List.of(new Jar(says + ".jar", says)), true, says);
  }

  private void done(@Nullable DesiredChange change) {
    assertThat(change).isNotNull();
    changes.add(change);
    state = state.with(List.of(change));
  }

  private void deploy(String name, String says) {
    done(state.deploy(name, wanted(says, 0), null, 100 + changes.size()));
  }

  private DesiredApplication application(String name) {
    return Objects.requireNonNull(state.find(name));
  }

  private void ran(String name) {
    done(state.mark(Map.of(name, new Mark(application(name).revision(), null))));
  }

  private void failed(String name) {
    done(state.mark(Map.of(name, new Mark(application(name).revision(), "no model"))));
  }

  private void ran(String name, String... says) {
    for (String each : says) {
      deploy(name, each);
      ran(name);
    }
  }

  private List<Long> earlier(String name) {
    return state.history().earlier(application(name)).stream().map(Before::revision).toList();
  }

  private @Nullable Long back(String name) {
    Before to = state.history().rollbackTo(application(name));
    return to == null ? null : (Long) to.revision();
  }

  private Before revision(String name, long revision) {
    return state.history().earlier(application(name)).stream()
        .filter(each -> each.revision() == revision)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theLastRevisionsThatRanAreKeptTheNewestFirst() {
    ran("a", "1", "2");
    deploy("a", "never ran");
    ran("b", "x");
    for (int i = 5; i <= 16; i++) {
      ran("a", "" + i);
    }

    assertThat(earlier("a")).containsExactly(15L, 14L, 13L, 12L, 11L, 10L, 9L, 8L, 7L, 6L);
    assertThat(revision("a", 6).deployedMs()).isPositive();
    assertThat(earlier("b")).isEmpty();
    done(state.delete("a"));
    ran("a", "anew");
    assertThat(earlier("a")).as("it went with the application").isEmpty();
  }

  @Test
  void aRollbackMayNameAnyOfThemAndKeepsTheOthers() {
    ran("a", "1", "2", "3");

    done(state.rollback("a", revision("a", 1), 7));
    assertThat(application("a").wanted()).isEqualTo(wanted("1", 0));
    assertThat(application("a").revision()).isEqualTo(4);
    assertThat(earlier("a")).containsExactly(3L, 2L, 1L);
    assertThat(back("a")).as("forward again").isEqualTo(3L);

    failed("a");
    assertThat(application("a").serving()).as("what ran before it").isEqualTo(wanted("3", 0));
    done(state.rollback("a", revision("a", 2), 7));
    assertThat(earlier("a")).as("what failed is not gone back to").containsExactly(3L, 2L, 1L);
  }

  @Test
  void oneRollbackAfterAnotherGoesBackAndForthOrFurtherBack() {
    ran("a", "1", "2");
    done(rollback(state, "a", 5));
    ran("a");
    assertThat(back("a")).isEqualTo(2L);
    done(rollback(state, "a", 5));
    ran("a");
    assertThat(application("a").wanted()).isEqualTo(wanted("2", 0));

    deploy("a", "bad");
    failed("a");
    assertThat(back("a")).isEqualTo(4L);
    done(rollback(state, "a", 5));
    assertThat(application("a").before()).as("it is not its own predecessor").isNull();
    assertThat(back("a")).as("something else than what is wanted").isEqualTo(3L);
    assertThat(state.declared(application("a")).rollbackRevision()).isEqualTo(3L);
  }

  @Test
  void aLimitHoldsForAllThatIsKeptFromTheNextStartOn() {
    ran("a", "1", "2", "3", "4");
    ran("b", "1", "2", "3");

    done(state.nextTerm(2));
    assertThat(earlier("a")).containsExactly(3L, 2L);
    assertThat(earlier("b")).containsExactly(6L, 5L);
    ran("b", "4");
    assertThat(earlier("b")).containsExactly(7L, 6L);
    done(state.nextTerm(1));
    assertThat(earlier("a")).as("what serves if the next fails").containsExactly(3L);
    done(state.nextTerm(10));
    ran("a", "5", "6");
    assertThat(earlier("a")).containsExactly(9L, 4L, 3L);
  }

  @Test
  void whatGivesWayIsTheOldestOfAllApplicationsButNotWhatRanLast() {
    ran("a", "1", "2", "3");
    ran("b", "1", "2", "3");

    done(state.forget(Objects.requireNonNull(state.history().oldest())));
    assertThat(earlier("a")).containsExactly(2L);
    assertThat(earlier("b")).containsExactly(5L, 4L);
    done(state.forget(Objects.requireNonNull(state.history().oldest())));
    assertThat(earlier("b")).containsExactly(5L);
    assertThat(state.history().oldest()).isNull();
  }

  @Test
  void entriesTogetherAreBoundedInCharacters() {
    int large = 4 << 20; // as large as may be submitted
    for (int i = 1; i <= 9; i++) {
      done(state.deploy("a", wanted("" + i, large - 100), null, i));
      ran("a");
      ran("b", "small " + i);
    }
    assertThat(earlier("a")).hasSizeBetween(3, 5);
    long chars =
        state.history().of("a").stream().mapToLong(each -> each.wanted().config().length()).sum();
    assertThat(chars).isLessThanOrEqualTo(History.MOST_CHARS);
  }

  @Test
  void aChangeIsAsLargeAsTheDifferenceHoweverLongTheHistory() {
    for (int i = 1; i <= 11; i++) {
      done(state.deploy("a", wanted("" + i, 1_000), null, i));
      ran("a");
    }
    int last = changes.get(changes.size() - 1).toJson().encode().length();
    assertThat(last).isLessThan(2 * 1_000 + 1_000);
    assertThat(state.whole().toJson().encode().length()).isGreaterThan(10 * 1_000);
  }

  /** What is read again is what was there, change by change, and from the whole. */
  @Test
  void whatIsReadAgainIsWhatWasKept() {
    for (int seed = 1; seed <= 60; seed++) {
      Random random = new Random(seed);
      state = DesiredState.EMPTY;
      changes.clear();
      DesiredState whole = DesiredState.EMPTY;
      for (int i = 0; i < 80; i++) {
        String name = List.of("a", "b", "c").get(random.nextInt(3));
        DesiredChange change = random(name, random);
        if (change == null) {
          continue;
        }
        done(change);
        whole = whole.with(List.of(again(change)));
        if (random.nextInt(10) == 0) {
          whole = DesiredState.EMPTY.with(List.of(again(whole.whole())));
        }
        assertThat(whole.whole().toJson().encode())
            .as("seed %s, change %s", seed, i)
            .isEqualTo(state.whole().toJson().encode());
      }
      DesiredState all = DesiredState.EMPTY.with(changes.stream().map(HistoryTest::again).toList());
      assertThat(all.whole().toJson()).as("seed %s", seed).isEqualTo(state.whole().toJson());
    }
  }

  private static DesiredChange again(DesiredChange change) {
    return DesiredChange.of(change.index(), new JsonObject(change.toJson().encode()));
  }

  private @Nullable DesiredChange random(String name, Random random) {
    DesiredApplication known = state.find(name);
    int what = random.nextInt(12);
    if (known == null || what < 4) {
      return state.deploy(name, wanted("" + random.nextInt(6), 0), null, 1 + random.nextInt(9));
    }
    List<Before> earlier = state.history().earlier(known);
    return switch (what) {
      case 4, 5, 6 -> state.mark(Map.of(name, new Mark(known.revision(), null)));
      case 7 -> state.mark(Map.of(name, new Mark(known.revision(), "no")));
      case 8 ->
          earlier.isEmpty()
              ? null
              : state.rollback(name, earlier.get(random.nextInt(earlier.size())), 5);
      case 9 -> state.nextTerm(1 + random.nextInt(4));
      case 10 -> state.history().oldest() == null ? null : state.forget(state.history().oldest());
      default -> random.nextInt(4) == 0 ? state.delete(name) : state.scale(name, "d", 2);
    };
  }
}
