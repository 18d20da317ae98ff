package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HistoryTest extends DesiredRig {
  private static ApplicationSpec large(int says, int chars) {
    return wanted("" + says, "x".repeat(chars));
  }

  private void deploy(String name, String says) {
    done(state.deploy(name, wanted(says), null, 100 + changes.size()));
  }

  private void ran(String name, String... says) {
    for (String each : says) {
      deploy(name, each);
      ran(name);
    }
  }

  private List<Long> earlier(String name) {
    return state.history.earlier(application(name)).stream()
        .map(EarlierRevision::revision)
        .toList();
  }

  private @Nullable Long back(String name) {
    EarlierRevision to = state.history.rollbackTo(application(name));
    return to == null ? null : (Long) to.revision();
  }

  private EarlierRevision revision(String name, long revision) {
    return state.history.earlier(application(name)).stream()
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
    assertThat(application("a").wanted()).isEqualTo(wanted("1"));
    assertThat(application("a").revision()).isEqualTo(4);
    assertThat(earlier("a")).containsExactly(3L, 2L, 1L);
    assertThat(back("a")).as("forward again").isEqualTo(3L);

    failed("a");
    assertThat(application("a").serving()).as("what ran before it").isEqualTo(wanted("3"));
    done(state.rollback("a", revision("a", 2), 7));
    assertThat(earlier("a")).as("what failed is not gone back to").containsExactly(3L, 2L, 1L);
  }

  @Test
  void oneRollbackAfterAnotherGoesBackAndForthOrFurtherBack() {
    ran("a", "1", "2");
    done(rollback("a"));
    ran("a");
    assertThat(back("a")).isEqualTo(2L);
    done(rollback("a"));
    ran("a");
    assertThat(application("a").wanted()).isEqualTo(wanted("2"));

    deploy("a", "bad");
    failed("a");
    assertThat(back("a")).isEqualTo(4L);
    done(rollback("a"));
    assertThat(application("a").before()).as("it is not its own predecessor").isNull();
    assertThat(back("a")).as("something else than what is wanted").isEqualTo(3L);
    assertThat(state.declared(application("a")).rollbackRevision()).isEqualTo(3L);
  }

  @Test
  void aLimitHoldsForAllThatIsKeptFromTheNextStartOn() {
    ran("a", "1", "2", "3", "4");
    ran("b", "1", "2", "3");

    done(state.nextTerm(2, 0));
    assertThat(earlier("a")).containsExactly(3L, 2L);
    assertThat(earlier("b")).containsExactly(6L, 5L);
    ran("b", "4");
    assertThat(earlier("b")).containsExactly(7L, 6L);
    done(state.nextTerm(1, 0));
    assertThat(earlier("a")).as("what serves if the next fails").containsExactly(3L);
    done(state.nextTerm(10, 0));
    ran("a", "5", "6");
    assertThat(earlier("a")).containsExactly(9L, 4L, 3L);
  }

  @Test
  void whatGivesWayIsTheOldestOfAllApplicationsButNotWhatRanLast() {
    ran("a", "1", "2", "3");
    ran("b", "1", "2", "3");

    done(state.forget(Objects.requireNonNull(state.history.oldest())));
    assertThat(earlier("a")).containsExactly(2L);
    assertThat(earlier("b")).containsExactly(5L, 4L);
    done(state.forget(Objects.requireNonNull(state.history.oldest())));
    assertThat(earlier("b")).containsExactly(5L);
    assertThat(state.history.oldest()).isNull();
  }

  @Test
  void entriesTogetherAreBoundedInCharacters() {
    int large = 4 << 20; // as large as may be submitted
    for (int i = 1; i <= 9; i++) {
      done(state.deploy("a", large(i, large - 100), null, i));
      ran("a");
      ran("b", "small " + i);
    }
    assertThat(earlier("a")).hasSizeBetween(3, 5);
    long chars =
        state.history.of("a").stream().mapToLong(each -> each.wanted().config().length()).sum();
    assertThat(chars).isLessThanOrEqualTo(RevisionHistory.MAX_CHARS);
  }

  @Test
  void aChangeIsAsLargeAsTheDifferenceHoweverLongTheHistory() {
    for (int i = 1; i <= 11; i++) {
      done(state.deploy("a", large(i, 1_000), null, i));
      ran("a");
    }
    int last = changes.get(changes.size() - 1).toJson().encode().length();
    assertThat(last).isLessThan(2 * 1_000 + 1_000);
    assertThat(state.whole().toJson().encode().length()).isGreaterThan(10 * 1_000);
  }
}
