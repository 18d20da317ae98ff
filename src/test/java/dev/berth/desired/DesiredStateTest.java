package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.Jar;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DesiredStateTest extends DesiredRig {
  private void deploy(String... namesAndWords) {
    done(state.deploy(all(namesAndWords), null, null, true, 1));
  }

  private void badAfterGood() {
    deploy("a", "good");
    ran("a");
    deploy("a", "bad");
  }

  @Test
  void aWholeConfigurationReplacesWhatWasThere() {
    deploy("a", "1", "b", "1");

    DesiredChange change = done(state.deploy(all("b", "1", "c", "1"), 50.0, null, true, 7));

    assertThat(change.removed()).containsExactly("a");
    assertThat(change.applications()).extracting(DesiredApplication::name).containsExactly("c");
    assertThat(state.applications()).extracting(DesiredApplication::name).containsExactly("b", "c");
    assertThat(application("c").revision()).isEqualTo(3);
    assertThat(application("c").deployedMs()).isEqualTo(7);
    assertThat(state.head.targetCapacity()).isEqualTo(50);
  }

  @Test
  void anEntryThatSaysTheSameKeepsItsRevisionAndItsScales() {
    deploy("a", "1", "b", "1");
    done(state.scale("a", "d", 3));
    DesiredApplication before = application("a");

    assertThat(state.deploy(all("a", "1", "b", "1"), null, null, true, 9)).isNull();
    done(state.deploy(all("a", "1", "b", "2"), null, null, true, 9));

    assertThat(application("a")).isSameAs(before);
    assertThat(application("b").revision()).isEqualTo(3);
  }

  @Test
  void anEntryThatSaysSomethingElseLosesItsScales() {
    deploy("a", "1");
    done(state.scale("a", "d", 0));
    assertThat(state.scale("a", "d", 0)).isNull();

    deploy("a", "2");

    assertThat(application("a").scales()).isEmpty();
  }

  @Test
  void oneApplicationIsDeclaredBesideTheOthers() {
    deploy("a", "1");

    DesiredChange change = done(state.deploy("b", wanted("2"), null, 3));

    assertThat(change.removed()).isEmpty();
    assertThat(state.applications()).hasSize(2);
    assertThat(state.deploy("b", wanted("2"), null, 4)).isNull();
  }

  @Test
  void aRollbackDeclaresWhatLastRanUnderARevisionOfItsOwn() {
    deploy("a", "good");
    assertThat(rollback("a")).as("nothing ran").isNull();
    ran("a");
    deploy("a", "bad");
    deploy("a", "worse");
    assertThat(state.declared(application("a")).rollbackRevision()).isEqualTo(1);

    done(rollback("a"));

    assertThat(application("a").wanted()).isEqualTo(wanted("good"));
    assertThat(application("a").revision()).isEqualTo(4);
    assertThat(application("a").healthy()).isFalse();
    assertThat(rollback("a")).as("what never ran is not gone back to").isNull();
  }

  @Test
  void whatRanBeforeServesInPlaceOfARevisionThatFailed() {
    badAfterGood();

    failed("a");

    DeclaredApplication declared = state.declared().get(0);
    assertThat(declared.revision()).isEqualTo(2);
    assertThat(declared.config()).isEqualTo(wanted("bad").config());
    assertThat(declared.routePrefix()).isEqualTo("/bad");
    assertThat(declared.rollbackRevision()).isEqualTo(1);
    assertThat(declared.failed())
        .isEqualTo(
            new DeclaredApplication.FailedRevision("no model; revision 1 serves", "/good", 1));
    assertThat(application("a").serving()).isEqualTo(wanted("good"));
    assertThat(state.mark(List.of(announce("a", 2, "again")))).as("it is marked once").isNull();
  }

  @Test
  void whereAnotherApplicationAnswersByNowTheEarlierRevisionDoesNot() {
    deploy("a", "good");
    ran("a");
    deploy("a", "bad", "b", "good");

    failed("a");

    assertThat(state.declared(application("a")).failed())
        .extracting(DeclaredApplication.FailedRevision::routePrefix)
        .isEqualTo("/bad");
  }

  @Test
  void aFailureIsForgottenByTheNextDeployOfTheSameOrOfSomethingElse() {
    badAfterGood();
    failed("a");

    done(state.deploy("a", wanted("bad"), null, 5));
    assertThat(application("a").failed()).isNull();
    assertThat(application("a").revision()).as("the same is tried again").isEqualTo(2);
    assertThat(application("a").serving()).isEqualTo(wanted("bad"));
    failed("a");
    deploy("a", "better");

    assertThat(application("a").failed()).isNull();
    assertThat(state.declared(application("a")).rollbackRevision()).isEqualTo(1);
  }

  @Test
  void aRollbackOfWhatFailedRunsWhatRanBefore() {
    badAfterGood();
    ran("a"); // for a while
    failed("a");

    done(rollback("a"));

    assertThat(application("a").serving()).isEqualTo(wanted("good"));
    assertThat(application("a").failed()).isNull();
    assertThat(rollback("a")).as("what failed is not gone back to").isNull();
  }

  @Test
  void aFirstRevisionThatFailedIsTriedAgain() {
    deploy("a", "bad");

    assertThat(state.mark(List.of(announce("a", 1, "no model")))).isNull();
  }

  @Test
  void whatRunsAfterAllHasNotFailed() {
    badAfterGood();
    failed("a");

    ran("a");

    assertThat(application("a").failed()).isNull();
    assertThat(application("a").healthy()).isTrue();
  }

  @Test
  void aRollbackOfWhatRanCanBeTakenBack() {
    deploy("a", "1");
    ran("a");
    deploy("a", "2");
    ran("a");

    done(rollback("a"));
    assertThat(application("a").wanted()).isEqualTo(wanted("1"));
    done(rollback("a"));
    assertThat(application("a").wanted()).isEqualTo(wanted("2"));
    assertThat(application("a").revision()).isEqualTo(4);
  }

  @Test
  void onlyTheRevisionThatIsWantedCanHaveRun() {
    deploy("a", "1");
    deploy("a", "2");

    List<Announce> second = List.of(announce("a", 2, null));
    assertThat(state.mark(List.of(announce("a", 1, null), announce("gone", 1, null)))).isNull();
    assertThat(done(state.mark(second)).applications()).hasSize(1);
    assertThat(state.mark(second)).isNull();
  }

  @Test
  void aRouteBelongsToOneApplicationUntilItIsGivenUp() {
    deploy("a", "x", "b", "y");
    assertThat(state.other("/x", "")).isEqualTo("a");

    deploy("a", "y", "b", "x"); // they change places

    assertThat(state.other("/x", "")).isEqualTo("b");
    assertThat(state.other("/y", "")).isEqualTo("a");
    done(state.delete("a"));
    assertThat(state.other("/y", "")).isNull();
    assertThat(state.other("/x", "")).isEqualTo("b");
  }

  @Test
  void termsRise() {
    assertThat(state.head.term()).isZero();
    done(state.nextTerm(1, 0));
    done(state.nextTerm(1, 0));
    assertThat(state.head.term()).isEqualTo(2);
    done(state.nextTerm(1, 10_000));
    done(state.nextTerm(1, 6_400)); // the clock was set an hour back
    assertThat(state.term()).isEqualTo(10_001);
  }

  // --- what was said, and by which file ---

  private static final String OTHER = "file://host/other.yaml";

  @Test
  void whatEachFileSaidIsToldFromWhatAnyoneSubmitted() {
    done(state.deploy("a", wanted("1"), LastApplied.START, 1));
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "1", null));

    done(state.deploy("a", wanted("2"), null, 1));
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "2", null));
    done(state.deploy("a", wanted("3"), OTHER, 1));
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "3", OTHER));
    assertThat(state.lastApplied("a").startedWith(OTHER).start()).isEqualTo("3");
    assertThat(state.lastApplied("a").startedWith("file://host/start.yaml").start()).isEqualTo("1");
    assertThat(state.deploy("a", wanted("3"), null, 1)).isNull();
    assertThat(state.lastApplied("a").isLastOf(OTHER)).as("nobody said anything else").isTrue();
    done(state.deploy("a", wanted("2"), null, 1));
    assertThat(state.lastApplied("a"))
        .as("it is known no more")
        .isEqualTo(new LastApplied("1", "2", null));
    done(state.deploy("a", wanted("4"), LastApplied.START, 1));

    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("4", "4", null));
  }

  @Test
  void whoSaysWhatIsWantedAnywayIsRememberedAndNothingIsDeployed() {
    deploy("a", "1");

    DesiredChange change = done(state.deploy("a", wanted("1"), OTHER, 1));

    assertThat(change.applications()).isEmpty();
    assertThat(state.lastApplied("a").isLastOf(OTHER)).isTrue();
    assertThat(state.deploy("a", wanted("1"), OTHER, 1)).isNull();
  }

  @Test
  void whatWasSaidOutlivesADeleteAndARollbackChangesNothingOfIt() {
    done(state.deploy("a", wanted("1"), LastApplied.START, 1));
    ran("a");
    deploy("a", "2");
    done(rollback("a"));
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "2", null));

    done(state.delete("a"));

    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "2", null));
  }

  @Test
  void aFileThatLeavesOutWhatItHasNamedTakesItBackAndAnotherOneDeletesIt() {
    done(state.deploy(all("a", "1", "b", "1"), 50.0, LastApplied.START, true, 1));
    done(state.deploy("c", wanted("1"), OTHER, 1));

    done(state.deploy(all("b", "1"), null, OTHER, true, 1));
    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("1", "1", null));
    assertThat(state.head.lastCapacity()).isEqualTo(new LastApplied("50.0", "50.0", null));
    assertThat(state.lastApplied("c")).isEqualTo(LastApplied.NOTHING);

    done(state.deploy(Map.of(), null, LastApplied.START, true, 1));
    assertThat(state.mentioned()).isEmpty();
    assertThat(state.head.lastCapacity()).isEqualTo(LastApplied.NOTHING);
  }

  @Test
  void whatWasSaidOfThoseThatAreGoneIsBounded() {
    for (int i = 0; i <= DesiredState.MAX_REMOVED; i++) {
      done(state.deploy("app" + i, wanted("" + i), null, 1));
      done(state.delete("app" + i));
    }
    deploy("a", "1");

    assertThat(state.mentioned()).hasSize(DesiredState.MAX_REMOVED + 1).contains("a", "app1");
    assertThat(state.mentioned()).as("the oldest").doesNotContain("app0");
  }

  /** As it was kept before there were histories and times of what ran before. */
  @Test
  void aStateWithoutHistoriesIsRead() {
    done(
        DesiredChange.of(
            41,
            new JsonObject(
                """
                {"revision": 7, "term": 2, "said_capacity": {"start": "50.0", "last": "50.0"},
                 "target_capacity": 50, "file": null, "removed": [],
                 "said": {"a": {"start": "older", "last": "old", "file": "file://h/f",
                                "digest": "old"},
                          "b": {"start": null, "last": "new", "file": "file://h/f",
                                "digest": "old"}},
                 "applications": [{"name": "a", "revision": 7, "deployed_ms": 1, "healthy": true,
                   "failed": null, "config": "{}", "digest": "old", "external_scaler": false,
                   "route_prefix": null, "jars": [["a.jar", "abc"]],
                   "before": {"config": "{}", "digest": "older", "external_scaler": false,
                              "route_prefix": "/a", "jars": [], "revision": 3}}]}
                """)));

    assertThat(state.lastApplied("a")).isEqualTo(new LastApplied("older", "old", "file://h/f"));
    assertThat(state.lastApplied("b"))
        .as("of no file")
        .isEqualTo(new LastApplied(null, "new", null));
    assertThat(state.head.lastCapacity()).isEqualTo(new LastApplied("50.0", "50.0", null));
    assertThat(state.head.targetCapacity()).isEqualTo(50);
    assertThat(state.head.splits()).isEmpty();
    assertThat(application("a").wanted().jars()).containsExactly(new Jar("a.jar", "abc"));
    assertThat(application("a").before())
        .isEqualTo(
            new EarlierRevision(3, 0, new ApplicationSpec("/a", "{}", List.of(), false, "older")));
    assertThat(DesiredState.EMPTY.with(List.of(again(state.whole()))).whole())
        .as("as it is written anew")
        .isEqualTo(state.whole());
  }

  @Test
  void answersAreKnownForTenMinutesTheLastTenThousandOfThem() {
    List<DesiredChange> many = new ArrayList<>();
    for (int i = 0; i <= DesiredState.MAX_RESULTS; i++) {
      many.add(state.answering(null, new CommandResult("id" + i, 1_000, "what", null)));
    }
    state = state.with(many);
    assertThat(state.answer("id0", 1_000)).as("the oldest").isNull();
    assertThat(state.answer("id1", 1_000)).isNotNull();
    assertThat(state.answer("id1", 1_000 + DesiredState.RESULT_RETENTION_MS)).isNull();
    assertThat(state.whole().answers()).hasSize(DesiredState.MAX_RESULTS);

    long later = 1_000 + DesiredState.RESULT_RETENTION_MS;
    done(state.answering(null, new CommandResult("late", later, "what", 7L)));

    assertThat(state.whole().answers()).as("the others are over").hasSize(1);
    assertThat(state.answer("late", later)).isEqualTo(new CommandResult("late", later, "what", 7L));
  }

  @Test
  void aStateStaysAsItWasWhenAnotherTakesItsPlace() {
    deploy("a", "1");
    DesiredState before = state;
    DesiredChange whole = before.whole();

    deploy("a", "2", "b", "1");
    done(state.deleteAll());

    assertThat(before.whole()).isEqualTo(whole);
    assertThat(before.other("/1", "")).isEqualTo("a");
    assertThat(state.index()).isEqualTo(before.index() + 2);
  }

  @Test
  void everythingCanBeDeleted() {
    assertThat(state.deleteAll()).isNull();
    deploy("a", "1", "b", "1");
    done(state.deleteAll());
    assertThat(state.applications()).isEmpty();
    deploy("a", "1");
    assertThat(application("a").revision()).as("never one that was given").isEqualTo(3);
  }

  /** What is written is all that is needed: a state made of what was written is the same. */
  @Test
  void aStateMadeOfItsWrittenChangesIsTheSame() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    DesiredState copy = DesiredState.EMPTY;
    for (int i = 0; i < 2_000; i++) {
      DesiredChange change = randomCommand(random, i);
      if (random.nextInt(3) == 0) {
        String id = "id" + random.nextInt(40);
        Long revision = random.nextBoolean() ? null : (Long) (long) i;
        change = state.answering(change, new CommandResult(id, 20_000L * i, "what", revision));
      }
      if (change != null) {
        state = state.with(List.of(change));
        copy = copy.with(List.of(again(change)));
      }
      if (i % 50 == 0 && i > 1_000) { // until then change by change
        copy = DesiredState.EMPTY.with(List.of(again(state.whole())));
      }
      assertThat(copy.whole()).as("seed %d, step %d", seed, i).isEqualTo(state.whole());
    }
  }

  private static @Nullable String file(Random random) {
    return random.nextBoolean() ? null : random.nextBoolean() ? LastApplied.START : "file://h/f";
  }

  private DesiredChange randomCommand(Random random, int step) {
    List<DesiredApplication> known = new ArrayList<>(state.applications());
    String name = "app" + random.nextInt(5);
    DesiredApplication some = known.isEmpty() ? null : known.get(random.nextInt(known.size()));
    ApplicationSpec wanted =
        new ApplicationSpec(
            random.nextBoolean() ? null : "/" + random.nextInt(9),
            "{\"a\":" + random.nextInt(3) + "}",
            random.nextBoolean() ? List.of() : List.of(new Jar("j.jar", "00" + step)),
            random.nextBoolean(),
            "d" + random.nextInt(3));
    Double capacity = random.nextBoolean() ? null : (double) random.nextInt(101);
    return switch (random.nextInt(10)) {
      case 0 -> state.deploy(Map.of(name, wanted), capacity, file(random), true, step);
      case 1 -> state.deploy(name, wanted, file(random), step);
      case 2 -> some == null ? null : state.delete(some.name());
      case 3 -> some == null ? null : state.scale(some.name(), "d", random.nextInt(3));
      case 4 -> some == null ? null : rollback(some.name());
      case 5 -> random.nextInt(9) == 0 ? state.deleteAll() : null;
      case 6 ->
          some == null
              ? null
              : state.mark(
                  List.of(
                      announce(some.name(), some.revision(), random.nextBoolean() ? null : "no")));
      case 7 -> state.history.oldest() == null ? null : state.forget(state.history.oldest());
      case 8 -> {
        List<EarlierRevision> earlier = some == null ? List.of() : state.history.earlier(some);
        yield earlier.isEmpty()
            ? null
            : state.rollback(some.name(), earlier.get(random.nextInt(earlier.size())), step);
      }
      default -> state.nextTerm(1 + random.nextInt(4), 0);
    };
  }
}
