package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.node.loops.FairHookScheduler.ScheduledHook;
import dev.berth.replica.hooks.HookThreads.HookKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which hook runs next. Times are in milliseconds. */
class HookSharesTest {
  private static final int MOST_APPLICATIONS = 20; // of a walk
  private static final int ALONE =
      1 + FairHookScheduler.SHARED / 2; // what one application may have

  private final FairHookScheduler shares = new FairHookScheduler();

  private static long ms(long millis) {
    return Duration.ofMillis(millis).toNanos();
  }

  private List<ScheduledHook> add(String application, HookKind kind, int times) {
    List<ScheduledHook> added = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      added.add(shares.add(application, kind, () -> {}));
    }
    return added;
  }

  /** Begins all that may. */
  private List<ScheduledHook> begin() {
    List<ScheduledHook> begun = new ArrayList<>();
    for (ScheduledHook next = shares.next(); next != null; next = shares.next()) {
      begun.add(next);
    }
    return begun;
  }

  /** Begins one, has it interrupted, and waits until it is lost. */
  private ScheduledHook lose(String application, HookKind kind) {
    add(application, kind, 1);
    List<ScheduledHook> begun = begin();
    assertThat(begun).as("%s of %s", kind, application).hasSize(1);
    shares.markInterrupted(begun.get(0), ms(0));
    assertThat(shares.findLost(ms(1_000))).isEqualTo(begun);
    return begun.get(0);
  }

  @Test
  void anApplicationHasAThreadOfEachKindHoweverManyAnotherHangs() {
    for (HookKind kind : HookKind.values()) {
      add("bad", kind, 1_000);
    }
    begin();
    for (HookKind kind : HookKind.values()) {
      List<ScheduledHook> good = add("good", kind, 1);
      assertThat(begin()).as("%s", kind).isEqualTo(good);
    }
  }

  @Test
  void anApplicationTakesNoMoreSharesThanItLeavesFree() {
    add("a", HookKind.START, 1_000);
    assertThat(begin()).hasSize(ALONE);
    add("b", HookKind.START, 1_000);
    assertThat(begin()).hasSize(1 + FairHookScheduler.SHARED / 4);
    add("c", HookKind.START, 1_000);
    assertThat(begin()).hasSize(1 + FairHookScheduler.SHARED / 8);
    assertThat(shares.sharing(HookKind.START)).isLessThanOrEqualTo(FairHookScheduler.SHARED);
    assertThat(shares.running(HookKind.START)).isEqualTo(3 + shares.sharing(HookKind.START));
    assertThat(shares.waiting(HookKind.START)).isEqualTo(3_000 - shares.running(HookKind.START));
  }

  @Test
  void twoHundredApplicationsThatHangLeaveEachItsOwnThread() {
    for (int i = 0; i < 200; i++) {
      add("bad" + i, HookKind.START, 10);
    }
    begin();
    List<ScheduledHook> good = add("good", HookKind.START, 2);
    assertThat(begin()).startsWith(good.get(0));
    assertThat(shares.sharing(HookKind.START)).isLessThanOrEqualTo(FairHookScheduler.SHARED);
  }

  @Test
  void aShareThatIsFreeGoesToWhoHasFewestThenToWhoWaitedLongest() {
    add("a", HookKind.STOP, ALONE);
    List<ScheduledHook> ofA = begin();
    for (String other : List.of("b", "c", "d", "e")) {
      add(other, HookKind.STOP, ALONE);
      begin(); // 16, 8, 4 and 2 shares; 2 are free
    }
    ofA.subList(0, 6).forEach(shares::onEnded);
    assertThat(begin()).extracting(ScheduledHook::application).containsExactly("e", "e", "d", "e");
  }

  @Test
  void oneThatIsTakenBackNeverRuns() {
    List<ScheduledHook> all = add("a", HookKind.START, ALONE + 2);
    List<ScheduledHook> begun = begin();
    shares.remove(all.get(ALONE));
    shares.remove(begun.get(0)); // it runs: nothing happens
    shares.onEnded(begun.get(1));
    assertThat(begin()).containsExactly(all.get(ALONE + 1));
    assertThat(shares.waiting(HookKind.START)).isZero();
    assertThat(shares.running(HookKind.START)).isEqualTo(ALONE);
  }

  @Test
  void oneForWhichThereWasNoThreadIsTheFirstToBeginLater() {
    List<ScheduledHook> all = add("a", HookKind.START, ALONE + 1);
    begin();
    shares.putBack(all.get(4));
    assertThat(shares.waiting(HookKind.START)).isEqualTo(2);
    assertThat(begin()).containsExactly(all.get(4));
  }

  @Test
  void noMoreWaitThanTheBound() {
    add("a", HookKind.START, FairHookScheduler.MAX_WAITING);
    assertThat(shares.add("b", HookKind.START, () -> {})).isNull();
    assertThat(shares.add("b", HookKind.STOP, () -> {})).as("for each kind").isNotNull();
    assertThat(begin()).isNotEmpty();
    assertThat(shares.add("b", HookKind.START, () -> {})).isNotNull();
  }

  // --- lost ---

  @Test
  void aThreadIsLostASecondAfterItsHookWasInterruptedAndBackWhenThatEnds() {
    add("a", HookKind.START, 1);
    ScheduledHook hook = begin().get(0);
    List<ScheduledHook> next = add("a", HookKind.START, FairHookScheduler.SHARED);
    begin();
    shares.markInterrupted(hook, ms(500));
    shares.markInterrupted(hook, ms(900)); // its time runs from the first
    assertThat(shares.findLost(ms(1_499))).isEmpty();
    assertThat(shares.lost).isZero();
    assertThat(shares.findLost(ms(1_500))).containsExactly(hook);
    assertThat(shares.findLost(ms(9_000))).as("once").isEmpty();
    assertThat(shares.lost).isEqualTo(1);
    assertThat(shares.mostLost()).isEqualTo(1);
    assertThat(shares.running(HookKind.START)).isEqualTo(ALONE - 1);
    next.subList(0, ALONE - 1).forEach(shares::onEnded);
    assertThat(begin()).as("its own thread is made up for").isNotEmpty();
    assertThat(shares.onEnded(hook)).isTrue();
    assertThat(shares.lost).isZero();
    assertThat(shares.mostLost()).isZero();
  }

  @Test
  void withEightLostNothingMoreOfAnApplicationRunsUntilOneIsBack() {
    List<ScheduledHook> lost = new ArrayList<>();
    for (int i = 0; i < FairHookScheduler.MAX_LOST_PER_APPLICATION; i++) {
      assertThat(shares.heldFor("bad")).isEmpty();
      lost.add(lose("bad", HookKind.values()[i % HookKind.values().length]));
    }
    List<ScheduledHook> held = new ArrayList<>();
    for (HookKind kind : HookKind.values()) {
      held.addAll(add("bad", kind, 1));
    }
    assertThat(begin()).isEmpty();
    assertThat(shares.heldFor("bad"))
        .isEqualTo(
            "threads lost to hooks that ignore interrupts: 8 of the application (expected: below"
                + " 8), 8 of the instance (expected: below 64)");
    List<ScheduledHook> good = add("good", HookKind.START, 3);
    assertThat(begin()).isEqualTo(good);
    assertThat(shares.heldFor("good")).isEmpty();

    assertThat(shares.onEnded(lost.get(3))).isTrue();
    assertThat(shares.heldFor("bad")).isEmpty();
    assertThat(begin()).containsExactlyInAnyOrderElementsOf(held);
  }

  @Test
  void anApplicationThatLostThreadsHasFewerShares() {
    lose("bad", HookKind.STOP);
    lose("bad", HookKind.STOP);
    add("bad", HookKind.START, 100);
    assertThat(begin()).hasSize(1 + FairHookScheduler.MAX_LOST_PER_APPLICATION - 2);
  }

  @Test
  void withManyLostInTheInstanceThoseThatLostSomeRunNothingMoreAndTheOthersAllTheirs() {
    for (int i = 0; i < FairHookScheduler.MAX_LOST; i++) {
      lose("bad" + i, HookKind.START);
    }
    add("bad0", HookKind.START, 1);
    assertThat(begin()).isEmpty();
    assertThat(shares.heldFor("bad0")).endsWith("64 of the instance (expected: below 64)");
    add("good", HookKind.START, 100);
    assertThat(begin()).hasSize(ALONE);
    lose("late", HookKind.STOP); // who lost none before has its own threads still
    assertThat(shares.heldFor("late")).isNotEmpty();
    assertThat(shares.lost).isEqualTo(FairHookScheduler.MAX_LOST + 1);
  }

  // --- anything, in any order ---

  /** What runs and waits, as a second opinion. */
  private static final class Model {
    final Map<ScheduledHook, String> waiting = new LinkedHashMap<>();
    final List<ScheduledHook> running = new ArrayList<>();
    final List<ScheduledHook> lost = new ArrayList<>();
    final Map<String, Long> lastBegun = new HashMap<>();

    static Map<String, Long> count(Collection<ScheduledHook> hooks) {
      return hooks.stream()
          .flatMap(hook -> Stream.of(hook.application(), hook.application() + hook.kind))
          .collect(Collectors.groupingBy(each -> each, Collectors.counting()));
    }
  }

  @Test
  @Timeout(60)
  void aWalkKeepsEveryApplicationsOwnThreadAndEveryBound() {
    for (long seed = 1; seed <= 50; seed++) {
      walk(seed);
    }
  }

  private static void walk(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    FairHookScheduler shares = new FairHookScheduler();
    Model model = new Model();
    int applications = 1 + random.nextInt(MOST_APPLICATIONS);
    int hostile = random.nextInt(3); // how often one is given up
    long now = random.nextLong();
    for (int step = 0; step < 300; step++) {
      now += ms(random.nextInt(400));
      switch (random.nextInt(6 + hostile)) {
        case 0, 1 -> {
          int times = random.nextInt(10) == 0 ? 100 : 1 + random.nextInt(3);
          String application = "a" + random.nextInt(applications);
          HookKind kind = HookKind.values()[random.nextInt(2)];
          for (int i = 0; i < times; i++) {
            ScheduledHook added = shares.add(application, kind, () -> {});
            model.waiting.put(added, application);
          }
        }
        case 2, 3, 4 -> end(shares, model, random, random.nextInt(5) == 0);
        case 5 -> {
          if (!model.waiting.isEmpty() && random.nextInt(4) == 0) {
            ScheduledHook back = model.waiting.keySet().iterator().next();
            model.waiting.remove(back);
            shares.remove(back);
          }
        }
        default -> {
          if (!model.running.isEmpty()) {
            shares.markInterrupted(model.running.get(random.nextInt(model.running.size())), now);
          }
        }
      }
      for (ScheduledHook lost : shares.findLost(now)) {
        assertThat(model.running.remove(lost)).as("seed %d: it ran", seed).isTrue();
        model.lost.add(lost);
      }
      for (ScheduledHook next = shares.next(); next != null; next = shares.next()) {
        assertThat(model.waiting.remove(next)).as("seed %d: it waited", seed).isNotNull();
        Long before = model.lastBegun.put(next.application() + next.kind, next.number);
        assertThat(before == null || before < next.number).as("seed %d: in order", seed).isTrue();
        assertThat(shares.heldFor(next.application())).as("seed %d: held", seed).isEmpty();
        model.running.add(next);
      }
      check(shares, model, seed);
    }
    while (!model.running.isEmpty() || !model.lost.isEmpty()) {
      end(shares, model, random, model.running.isEmpty());
      for (ScheduledHook next = shares.next(); next != null; next = shares.next()) {
        model.waiting.remove(next);
        model.running.add(next);
      }
    }
    assertThat(model.waiting).as("seed %d: all ran", seed).isEmpty();
    assertThat(shares.owners.size()).as("seed %d: nothing is kept", seed).isZero();
    assertThat(shares.lost).isZero();
  }

  private static void end(
      FairHookScheduler shares, Model model, SplittableRandom random, boolean lost) {
    List<ScheduledHook> of = lost ? model.lost : model.running;
    if (!of.isEmpty()) {
      ScheduledHook over = of.remove(random.nextInt(of.size()));
      assertThat(shares.onEnded(over)).isEqualTo(lost);
    }
  }

  private static void check(FairHookScheduler shares, Model model, long seed) {
    Map<String, Long> running = Model.count(model.running);
    Map<String, Long> waiting = Model.count(model.waiting.keySet());
    Map<String, Long> lost = Model.count(model.lost);
    assertThat(shares.lost).as("seed %d: lost", seed).isEqualTo(model.lost.size());
    for (int i = 0; i < MOST_APPLICATIONS; i++) {
      long own = lost.getOrDefault("a" + i, 0L);
      assertThat(shares.heldFor("a" + i).isEmpty())
          .as("seed %d: it lost %d of %d", seed, own, model.lost.size())
          .isEqualTo(own == 0 || (own < 8 && model.lost.size() < 64));
    }
    for (HookKind kind : HookKind.values()) {
      long sharing = 0;
      for (int i = 0; i < MOST_APPLICATIONS; i++) {
        long run = running.getOrDefault("a" + i + kind, 0L);
        sharing += Math.max(0, run - 1);
        boolean waits = waiting.containsKey("a" + i + kind);
        assertThat(waits && run == 0 && shares.heldFor("a" + i).isEmpty())
            .as("seed %d: %s of a%d waits, and has no thread of its own", seed, kind, i)
            .isFalse();
      }
      assertThat((long) shares.sharing(kind))
          .as("seed %d: shares of %s", seed, kind)
          .isEqualTo(sharing)
          .isLessThanOrEqualTo(FairHookScheduler.shared(kind));
    }
  }
}
