package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.DrivenController.Hosted;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * One replica of an upstream at a time, in any phase. The driver refuses a second one: see {@link
 * DrivenController}.
 */
class UpstreamReconcilerTest {
  private static final DeploymentId MODELS = new DeploymentId("app", "models");
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final DeploymentId ELSEWHERE = new DeploymentId("second", "models");

  private final DrivenController it = new DrivenController();

  private static Settings entry(String host, int slots) {
    return UpstreamOptions.fromUserConfig(
        Map.of("url", "http://" + host, "max_ongoing_requests", slots));
  }

  /** These upstreams of two slots each, and the settings of a version. */
  private static DeploymentTarget of(DeploymentId id, String version, String... hosts) {
    List<Settings> entries = Stream.of(hosts).map(host -> entry(host, 2)).toList();
    return new DeploymentTarget(
        id,
        "b1",
        new DeploymentVersion("proxy", version),
        DeploymentConfig.withReplicas(DeploymentConfig.of(id.name()), hosts.length)
            .with(DeploymentConfig.UPSTREAMS, entries));
  }

  private UpstreamReconcilerTest hosts(String... keys) {
    assertThat(it.hosted.values())
        .extracting(each -> each.upstream.replace("http://", "") + " " + state(each))
        .containsExactlyInAnyOrder(keys);
    return this;
  }

  private static String state(Hosted each) {
    String phase = each.stopping ? "drains" : each.runs ? "runs" : "starts";
    return phase + " " + each.target.version().live() + (each.next == null ? "" : "+");
  }

  private Hosted of(String host) {
    return it.hosted.values().stream()
        .filter(each -> each.upstream.equals("http://" + host))
        .findFirst()
        .orElseThrow();
  }

  private DeploymentStatus status(DeploymentId id) {
    return it.details(id).status();
  }

  private long actions(Class<?> type) {
    return it.log.stream().filter(type::isInstance).count();
  }

  @Test
  void eachEntryStartsOneReplicaOfItsKey() {
    it.declare("app", of(MODELS, "1", "a", "b", "c"));

    hosts("a starts 1", "b starts 1", "c starts 1");
    it.finish();
    hosts("a runs 1", "b runs 1", "c runs 1");
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
    assertThat(it.details(MODELS).replicas())
        .extracting(ReplicaDetails::upstream)
        .containsExactly("http://a", "http://b", "http://c");
  }

  @Test
  void changedTargetReconfiguresEachReplicaInPlace() {
    it.serve("app", of(MODELS, "1", "a", "b"));

    it.declare("app", of(MODELS, "2", "a", "b"));

    hosts("a runs 1+", "b runs 1+");
    it.finish();
    hosts("a runs 2", "b runs 2");
    assertThat(actions(StartReplica.class)).isEqualTo(2);
    assertThat(actions(StopReplica.class)).isZero();
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
  }

  @Test
  void changedCodeRestartsNoUpstream() {
    it.serve("app", of(MODELS, "1", "a"));
    DeploymentTarget next = of(MODELS, "2", "a");

    it.serve(
        "app",
        new DeploymentTarget(MODELS, "b2", new DeploymentVersion("new", "2"), next.settings()));

    hosts("a runs 2");
    assertThat(actions(StartReplica.class)).isOne();
  }

  @Test
  void removedKeyDrainsOnceAnotherServes() {
    it.serve("app", of(MODELS, "1", "a"));

    it.declare("app", of(MODELS, "2", "b"));
    hosts("a runs 1", "b starts 2");
    it.runAll();
    hosts("a drains 1", "b runs 2");
    it.finish();
    hosts("b runs 2");
  }

  @Test
  void keyStartsOnlyOnceItsDrainingReplicaHasEnded() {
    it.serve("app", of(MODELS, "1", "a", "b"));
    it.declare("app", of(MODELS, "4", "b"));
    Hosted draining = of("a");
    assertThat(draining.stopping).isTrue();

    it.declare("app", of(MODELS, "5", "a", "b"));

    assertThat(it.details(MODELS).message())
        .contains("upstream http://a: its last replica has not ended");
    assertThat(of("a")).isSameAs(draining);
    it.advance(Duration.ofMinutes(10));
    assertThat(of("a")).isSameAs(draining);
    it.die(draining.id);
    assertThat(state(of("a"))).isEqualTo("starts 5");
    it.finish();
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
  }

  @Test
  void keyOfADeletedApplicationStartsOnceItsReplicaHasEnded() {
    it.serve("app", of(MODELS, "1", "a", "b"));
    it.send(new ControllerEvent.Withdrawn("app"));

    it.declare("second", of(ELSEWHERE, "2", "a", "c"));
    hosts("a drains 1", "b drains 1", "c starts 2");
    it.die(of("b").id);
    hosts("a drains 1", "c starts 2");
    it.die(of("a").id);
    hosts("a starts 2", "c starts 2");
  }

  @Test
  void keyThatMovesBetweenDeploymentsStartsAfterItsDrain() {
    it.serve("app", of(MODELS, "1", "a", "b"), of(OTHER, "1", "c"));

    it.declare("app", of(MODELS, "2", "a"), of(OTHER, "2", "c", "b"));
    hosts("a runs 1+", "b drains 1", "c runs 1+");
    it.finish();
    hosts("a runs 2", "b runs 2", "c runs 2");
    assertThat(of("b").target.id()).isEqualTo(OTHER);
  }

  @Test
  void laterControllerFindsTheReplicaOfEachKey() {
    it.serve("app", of(MODELS, "1", "a", "b"));
    it.declare("app", of(MODELS, "2", "b"));
    long starts = actions(StartReplica.class);
    it.restart();
    it.tellInventory();

    it.declare("app", of(MODELS, "3", "a", "b"));

    assertThat(actions(StartReplica.class)).isEqualTo(starts);
    it.finish();
    hosts("a runs 3", "b runs 3");
  }

  @Test
  void laterControllerWaitsForAReplicaOfAnUndeclaredApplication() {
    it.serve("app", of(MODELS, "1", "a"));
    it.restart();
    it.tellInventory();

    it.declare("second", of(ELSEWHERE, "2", "a"));

    hosts("a runs 1");
    it.advance(Duration.ofSeconds(11));
    hosts("a drains 1");
    it.die(of("a").id);
    hosts("a starts 2");
  }

  @Test
  void sickReplicaIsNotReplacedAndProvesNothingAboutItsVersion() {
    it.declare("app", of(MODELS, "1", "a", "b"));
    it.runAll();
    it.sick(of("a").id);
    it.finish();
    it.advance(Duration.ofMinutes(5));

    hosts("a runs 1", "b runs 1");
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
    assertThat(it.controller.applications()).containsEntry("app", ApplicationStatus.RUNNING);
    assertThat(it.routable(MODELS)).containsExactly(of("b").id);
  }

  @Test
  void refusedChangeIsRepeatedInPlaceUntilItsVersionFails() {
    it.serve("app", of(MODELS, "1", "a"));
    it.declare("app", of(MODELS, "2", "a"));
    int refusals = 0;
    while (of("a").next != null) {
      it.refuse(of("a").id, "key.yaml: missing");
      refusals++;
      it.advance(Duration.ofMinutes(2));
    }

    assertThat(refusals).isEqualTo(3);
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.DEPLOY_FAILED);
    it.declare("app", of(MODELS, "1", "a"));
    hosts("a runs 1+");
    it.finish();
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
    assertThat(actions(StartReplica.class)).isOne();
  }

  @Test
  void failedVersionLeavesTheLastCompleteOneServing() {
    it.serve("app", of(MODELS, "1", "a"));
    it.declare("app", of(MODELS, "2", "b"));
    for (int i = 0; i < 3; i++) {
      it.fail(of("b").id, "key.yaml: missing");
      it.advance(Duration.ofMinutes(2));
    }

    hosts("a runs 1");
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.DEPLOY_FAILED);
    it.die(of("a").id);
    it.advance(Duration.ofMinutes(2));
    hosts("a starts 1");
  }

  @Test
  void handlersStayUntilAnUpstreamServes() {
    DeploymentTarget handlers =
        new DeploymentTarget(
            MODELS,
            "b0",
            new DeploymentVersion("code", ""),
            DeploymentConfig.withReplicas(DeploymentConfig.of("models"), 2));
    it.serve("app", handlers);
    it.declare("app", of(MODELS, "1", "a"));

    hosts(" runs ", " runs ", "a starts 1");
    it.runAll();
    hosts(" drains ", " drains ", "a runs 1");
    it.finish();
    it.serve("app", handlers);
    hosts(" runs ", " runs ");
  }

  /** A file may name the version of the code, alike for handlers and upstreams. */
  @Test
  void upstreamIsNeverReconfiguredToHandlersOfTheSameCode() {
    it.serve("app", of(MODELS, "1", "a"));
    it.declare(
        "app",
        new DeploymentTarget(
            MODELS,
            "b1",
            new DeploymentVersion("proxy", "2"),
            DeploymentConfig.withReplicas(DeploymentConfig.of("models"), 1)));

    hosts("a runs 1", " starts 2");
    it.finish();
    hosts(" runs 2");
  }

  @Test
  void closedUpstreamIsShownWithItsReasonAlsoByALaterController() {
    it.serve("app", of(MODELS, "1", "a"));
    String id = of("a").id;
    it.send(new ControllerEvent.ReplicaWaits(id, "closed: connection refused"));

    it.serve("app", of(MODELS, "2", "a"));

    assertThat(it.details(MODELS).replicas())
        .singleElement()
        .extracting(ReplicaDetails::reason)
        .isEqualTo("closed: connection refused");
    assertThat(it.details(MODELS).message()).isEqualTo("http://a closed: connection refused");
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
    it.send(new ControllerEvent.ReplicaWaits(id, ""));
    assertThat(it.details(MODELS).message()).isEmpty();
  }

  @Test
  void closedUpstreamsAreNamedUpToALimit() {
    String[] names = "a,b,c,d,e,f,g,h,i,j".split(",");
    it.serve("app", of(MODELS, "1", names));
    for (String name : List.of("b", "c")) {
      it.send(new ControllerEvent.ReplicaWaits(of(name).id, "closed: " + name));
    }
    assertThat(it.details(MODELS).message())
        .isEqualTo("2 of 10 closed: http://b, http://c; http://b closed: b");

    for (String name : names) {
      it.send(new ControllerEvent.ReplicaWaits(of(name).id, "closed: " + name));
    }
    assertThat(it.details(MODELS).message())
        .startsWith("10 of 10 closed: http://a, ")
        .endsWith(", http://h and 2 more; http://a closed: a");
  }

  @Test
  void driverFindsASecondReplicaOfAKey() {
    it.serve("app", of(MODELS, "1", "a"));
    StartReplica start =
        it.log.stream()
            .filter(StartReplica.class::isInstance)
            .map(StartReplica.class::cast)
            .findFirst()
            .orElseThrow();
    StartReplica surge =
        new StartReplica(start.epoch(), start.node(), start.target(), "m9", start.upstream());
    assertThatThrownBy(() -> it.apply(List.of(surge)))
        .isInstanceOf(AssertionError.class)
        .hasMessage("m9 starts beside m1 for http://a");
  }

  /** Changes, deletions, deaths, refusals and restarts of the controller, in any order. */
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void walkKeepsOneReplicaPerKeyAndEndsAsDeclared(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    DeploymentTarget[] wanted = declareAny(random, 0);
    for (int step = 1; step < 400; step++) {
      List<Hosted> all = new ArrayList<>(it.hosted.values());
      Hosted any = all.isEmpty() ? null : all.get(random.nextInt(all.size()));
      switch (random.nextInt(10)) {
        case 0 -> wanted = declareAny(random, step);
        case 1 -> it.send(new ControllerEvent.Withdrawn(random.nextBoolean() ? "app" : "second"));
        case 2 -> {
          it.restart();
          it.tellInventory();
          if (random.nextBoolean()) {
            declare(wanted);
          }
        }
        case 3 -> it.advance(Duration.ofSeconds(random.nextInt(30)));
        case 4 -> it.tellInventory();
        default -> {
          if (any != null) {
            act(any, random);
          }
        }
      }
    }
    declare(wanted);
    it.finish();
    it.advance(Duration.ofMinutes(10));
    it.finish();

    TreeSet<String> keys = new TreeSet<>();
    for (DeploymentTarget each : wanted) {
      keys.addAll(UpstreamOptions.byKey(each.settings()).keySet());
    }
    assertThat(it.hosted.values()).allMatch(each -> each.runs && !each.stopping);
    assertThat(it.hosted.values().stream().map(each -> each.upstream).sorted().toList())
        .containsExactlyElementsOf(keys);
  }

  private void act(Hosted any, SplittableRandom random) {
    if (any.stopping) {
      it.die(any.id);
    } else if (!any.runs) {
      if (random.nextInt(4) == 0) {
        it.fail(any.id, "no key");
      } else {
        it.run(any.id);
      }
    } else if (any.next != null) {
      if (random.nextInt(4) == 0) {
        it.refuse(any.id, "no key");
      } else {
        it.reconfigured(any.id);
      }
    } else if (random.nextInt(3) == 0) {
      it.die(any.id);
    } else if (random.nextBoolean()) {
      it.sick(any.id);
    } else {
      it.well(any.id);
    }
  }

  /** Six keys over three deployments of two applications, each in at most one. */
  private DeploymentTarget[] declareAny(SplittableRandom random, int step) {
    List<List<String>> keys = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    IntStream.range(0, 6).forEach(key -> keys.get(random.nextInt(3)).add("k" + key));
    keys.forEach(each -> each.add("own" + keys.indexOf(each) + each.hashCode() % 2));
    DeploymentTarget[] targets =
        Stream.of(MODELS, OTHER, ELSEWHERE)
            .map(
                id -> {
                  int place = id == MODELS ? 0 : id == OTHER ? 1 : 2;
                  return of(id, "" + step, keys.get(place).toArray(String[]::new));
                })
            .toArray(DeploymentTarget[]::new);
    declare(targets);
    return targets;
  }

  private void declare(DeploymentTarget[] targets) {
    it.declare("app", targets[0], targets[1]);
    it.declare("second", targets[2]);
  }

  @Test
  void keyMovesToAnotherDeploymentOfTheSameDeploy() {
    it.serve("app", of(MODELS, "1", "a"));

    it.declare("app", of(OTHER, "2", "a"));
    it.finish();

    hosts("a runs 2");
    assertThat(status(OTHER)).isEqualTo(DeploymentStatus.HEALTHY);
  }

  @Test
  void deploymentsExchangeTheirKeys() {
    it.serve("app", of(MODELS, "1", "a"), of(OTHER, "1", "b"));

    it.declare("app", of(MODELS, "2", "b"), of(OTHER, "2", "a"));
    it.finish();

    hosts("a runs 2", "b runs 2");
    assertThat(status(MODELS)).isEqualTo(DeploymentStatus.HEALTHY);
  }
}
