package dev.berth.routing.traffic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.Yaml;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.routing.traffic.RequestHead.RequestPart;
import dev.berth.routing.traffic.RequestHead.RequestPartKind;
import dev.berth.routing.traffic.TrafficPolicy.TrafficChoice;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrafficPolicyTest {
  private static final RequestHead PLAIN = head(Map.of());

  private static RequestHead head(Map<String, String> values) {
    return (part, name) -> values.get(part + ":" + name);
  }

  private static TrafficPolicy split(double... weights) {
    List<String> sides = new ArrayList<>();
    for (double weight : weights) {
      sides.add("{deployment: side%s, weight: %s}".formatted(sides.size(), weight));
    }
    return policy("traffic: " + sides);
  }

  private static TrafficPolicy policy(String said) {
    String text = "applications: [{name: app, import_path: a.B, berth: {" + said + "}}]";
    return TrafficPolicy.of(
        Yaml.read(text).applications().get(0).get(ApplicationConfig.BERTH),
        "app",
        new DeploymentId("app", "ingress"));
  }

  private static RequestHead keyed(String key) {
    return head(Map.of("HEADER:X-Serve-Shard-Key", key));
  }

  @ParameterizedTest
  @CsvSource({"90, 10, 0", "50, 50, 0", "1, 1, 2", "0, 100, 0", "0.1, 0.7, 0.2"})
  void eachSideGetsItsShareWithinThreeSigma(double a, double b, double c) {
    TrafficPolicy policy = split(a, b, c);
    SplittableRandom random = new SplittableRandom(1);
    int n = 100_000;
    int[] byChance = new int[3];
    int[] byKey = new int[3];
    for (int i = 0; i < n; i++) {
      byChance[policy.choose(PLAIN, random).side()]++;
      byKey[policy.choose(keyed("key-" + i), random).side()]++;
    }
    double[] weights = {a, b, c};
    for (int side = 0; side < 3; side++) {
      double share = weights[side] / (a + b + c);
      double sigma = Math.sqrt(n * share * (1 - share));
      assertThat((double) byChance[side]).isCloseTo(n * share, within(3 * sigma + 0.5));
      assertThat((double) byKey[side]).isCloseTo(n * share, within(3 * sigma + 0.5));
    }
  }

  /**
   * @param most keys that may move: of two sides as many as their shares do; of more, those that
   *     have grown also take from ones whose weight is as it was, which take from the others
   */
  @ParameterizedTest
  @CsvSource({"90, 10, 0, 60, 40, 0, 0.30", "90, 10, 50, 60, 40, 50, 0.26"})
  void aKeyStaysAndMovesOnlyFromWhoseWeightFellOrToWhoseGrew(
      double a, double b, double c, double toA, double toB, double toC, double most) {
    TrafficPolicy before = split(a, b, c);
    TrafficPolicy after = split(toA, toB, toC);
    SplittableRandom random = new SplittableRandom(2);
    int n = 50_000;
    int moved = 0;
    for (int i = 0; i < n; i++) {
      RequestHead key = keyed("user-" + i);
      int was = before.choose(key, random).side();
      assertThat(before.choose(key, random).side()).isEqualTo(was);
      int is = after.choose(key, random).side();
      if (is != was) {
        moved++;
        assertThat(is == 1 || was == 0).isTrue();
      }
    }
    double sigma = Math.sqrt(n * most * (1 - most));
    assertThat((double) moved).isCloseTo(n * most, within(3 * sigma));
  }

  @Test
  void theFirstMatchTakesARequestWhateverTheWeightsAndTheKey() {
    TrafficPolicy policy =
        policy(
            "traffic: [{deployment: a, weight: 1}], match: ["
                + "{header: x-canary, exact: always, deployment: b},"
                + "{cookie: group, regex: 'beta-[0-9]+', deployment: c},"
                + "{method: POST, deployment: a},"
                + "{query: v, prefix: '2.', deployment: b},"
                + "{header: x-debug, deployment: c}]");
    SplittableRandom random = new SplittableRandom(3);
    TrafficChoice both =
        policy.choose(head(Map.of("HEADER:x-canary", "always", "COOKIE:group", "beta-7")), random);
    assertThat(both.match()).isZero();
    assertThat(both.side()).isEqualTo(1);
    assertThat(side(policy, "COOKIE:group", "beta-7")).isEqualTo(2);
    assertThat(side(policy, "COOKIE:group", "beta-7x")).isZero();
    assertThat(side(policy, "HEADER:x-canary", "never")).isZero();
    assertThat(side(policy, "QUERY:v", "2.1")).isEqualTo(1);
    assertThat(side(policy, "QUERY:v", "3.1")).isZero();
    assertThat(side(policy, "HEADER:x-debug", "")).isEqualTo(2);
    TrafficChoice drawn = policy.choose(PLAIN, random);
    assertThat(drawn.match()).isEqualTo(-1);
    assertThat(drawn.drawn()).isBetween(0.0, 1.0);
  }

  private static int side(TrafficPolicy policy, String part, String value) {
    return policy.choose(head(Map.of(part, value)), new SplittableRandom(4)).side();
  }

  @Test
  @Timeout(10)
  void aRegularExpressionTakesTimeLinearInItsText() {
    TrafficPolicy evil = policy("match: [{header: x, regex: '(a|aa)+$', deployment: b}]");
    assertThat(side(evil, "HEADER:x", "a".repeat(10_000) + "b")).isZero();
  }

  @Test
  void aKeyIsCutAndAnEmptyOneIsNone() {
    TrafficPolicy policy = split(1, 1);
    String longest = "k".repeat(TrafficPolicy.MAX_KEY_CHARS);
    assertThat(policy.keyOf(keyed(longest + "more"))).isEqualTo(longest);
    assertThat(policy.keyOf(keyed(""))).isNull();
    assertThat(policy.keyOf(PLAIN)).isNull();
  }

  @Test
  void withoutTrafficTheIngressAnswersAndOthersOnlyByAMatch() {
    TrafficPolicy policy = policy("match: [{header: x, deployment: b}], shard_key: {path: 2}");
    assertThat(policy.sides())
        .containsExactly(new DeploymentId("app", "ingress"), new DeploymentId("app", "b"));
    assertThat(policy.weights()).containsExactly(1.0, 0.0);
    assertThat(policy.key()).isEqualTo(new RequestPart(RequestPartKind.PATH, "2"));
    assertThat(policy.choose(PLAIN, new SplittableRandom(5)).side()).isZero();
    assertThat(side(policy, "HEADER:x", "1")).isEqualTo(1);
  }

  @Test
  void whatParkedLeavesInItsOrderAndInItsTime() {
    InstanceQueueLimits bounds = new InstanceQueueLimits(4, 0, 0);
    ParkedRequests<String> parked = new ParkedRequests<>(bounds);
    for (String each : List.of("a", "b", "c", "d")) {
      assertThat(parked.tryAdd(each, each.equals("b") ? 5 : 10)).isTrue();
    }
    assertThat(parked.tryAdd("one too many", 10)).isFalse();
    assertThat(parked.takeIf("c"::equals)).containsExactly("c");
    assertThat(parked.overdue(4)).isEmpty();
    assertThat(parked.overdue(5)).containsExactly("b");
    assertThat(parked.takeIf(all -> true)).containsExactly("a", "d");
    assertThat(parked.size()).isZero();
    assertThat(bounds.queued()).isZero();
  }
}
