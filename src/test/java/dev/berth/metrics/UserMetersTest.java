package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaMeters;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UserMetersTest {
  private final Meters meters = new Meters("node-1", "127.0.0.1", "", false);
  private final UserMeters user = new UserMeters(new DeploymentId("app", "model"), "app#model#1");
  private final MeterRegistration shown = meters.add(user::collect);

  private String scrape() {
    return meters.scrape("text/plain");
  }

  @Test
  void eachKindIsShownWithTheReplicasLabels() {
    user.counter("words", "language", "en").add(3);
    user.gauge("temperature").set(36.6);
    user.histogram("size", new double[] {1, 10}).record(4);
    String labels = "application=\"app\",deployment=\"model\"";
    assertThat(scrape())
        .contains("words_total{" + labels + ",language=\"en\",replica=\"app#model#1\"} 3.0")
        .contains("temperature{" + labels + ",replica=\"app#model#1\"} 36.6")
        .contains("size_bucket{" + labels + ",replica=\"app#model#1\",le=\"1.0\"} 0")
        .contains("size_bucket{" + labels + ",replica=\"app#model#1\",le=\"10.0\"} 1")
        .contains("size_sum{" + labels + ",replica=\"app#model#1\"} 4.0");
  }

  @Test
  void aMetersHelpIsShownForAllWhoHaveItWhoeverSaidItFirst() {
    UserMeters other = new UserMeters(new DeploymentId("other", "model"), "other#model#1");
    meters.add(other::collect);
    user.counter("words").increment();
    other.describe("words_total", "Words, counted.").counter("words").increment();
    other.describe("words", "Something else.");
    user.gauge("temperature").set(1);
    assertThat(scrape())
        .containsOnlyOnce("# HELP words_total Words, counted.\n")
        .contains("# HELP temperature A meter of user code.\n")
        .doesNotContain("Something else");
  }

  @Test
  void onlyAMeterOfOnesOwnCanBeDescribedAndBriefly() {
    assertThatThrownBy(() -> user.describe("serve_replica_processing_queries", "mine"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> user.describe("words", " ")).hasMessageStartingWith("help of words: ");
    assertThatThrownBy(() -> user.describe("words", "x".repeat(ReplicaMeters.MAX_HELP + 1)))
        .hasMessage("help of words: 501 characters (expected: 1 to 500)");
    assertThat(user.describe("words", "a\nb \"c\"")).isSameAs(user);
    user.gauge("words").set(1);
    assertThat(scrape()).contains("# HELP words a\\nb ");
  }

  @Test
  void theSameNameAndTagsAreTheSameMeter() {
    assertThat(user.counter("words", "a", "1")).isSameAs(user.counter("words_total", "a", "1"));
    assertThat(user.counter("words", "a", "1")).isNotSameAs(user.counter("words", "a", "2"));
    assertThat(user.histogram("size", new double[] {1}))
        .isSameAs(user.histogram("size", new double[] {2}));
  }

  @Test
  void aCounterNeverFalls() {
    ReplicaMeters.Counter counter = user.counter("words");
    counter.increment();
    counter.add(-5);
    counter.add(Double.NaN);
    assertThat(scrape()).containsPattern("words_total\\{[^}]*} 1\\.0");
  }

  @Test
  void twoReplicasShareANameAndEachHasItsSeries() {
    UserMeters other = new UserMeters(new DeploymentId("app", "model"), "app#model#2");
    meters.add(other::collect);
    user.gauge("temperature").set(1);
    other.gauge("temperature").set(2);
    assertThat(scrape())
        .containsPattern("temperature\\{.*model#1\"} 1\\.0")
        .containsPattern("temperature\\{.*model#2\"} 2\\.0")
        .containsOnlyOnce("# TYPE temperature gauge");
  }

  @Test
  void whatAnotherDeploymentCallsTheSameTakesNoOtherMetersAway() {
    UserMeters other = new UserMeters(new DeploymentId("app", "other"), "app#other#1");
    meters.add(other::collect);
    user.gauge("words").set(1);
    user.gauge("mine").set(1);
    meters.add(into -> into.gauge("berth_queued_bytes", 1));
    other.counter("words").increment();
    assertThat(scrape()).contains("# TYPE words", "berth_queued_bytes ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve_x", "berth_x", "a-b", "", "1a", "a_bucket", "a_info", "a_created"})
  void aNameThatPrometheusOrBerthNeedsIsRefused(String name) {
    assertThatThrownBy(() -> user.gauge(name))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("meter: " + name + " (expected: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"replica", "application", "deployment", "le", "__x", "a b"})
  void aTagThatIsTakenIsRefused(String tag) {
    assertThatThrownBy(() -> user.gauge("words", tag, "x"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("tag: " + tag + " (expected: ");
  }

  @Test
  void whatFitsNoMeterIsRefused() {
    user.gauge("words");
    assertThatThrownBy(() -> user.histogram("words", new double[0]))
        .hasMessage("meter: words: HISTOGRAM (expected: GAUGE, as registered)");
    assertThatThrownBy(() -> user.gauge("words", "x")).hasMessageStartingWith("tags: 1 strings");
    assertThatThrownBy(() -> user.gauge("words", "x", "1", "x", "2"))
        .hasMessageStartingWith("tag: x (expected: ");
    assertThatThrownBy(() -> user.histogram("size", new double[] {2, 1}))
        .hasMessageStartingWith("upperBounds: [2.0, 1.0] (expected: ");
  }

  @Test
  void beyondTheBoundAMeterCountsNothing() {
    for (int meter = 1; meter <= ReplicaMeters.MAX_METERS + 2; meter++) {
      user.counter("words", "user", Integer.toString(meter)).increment();
    }
    assertThat(scrape()).contains("user=\"1000\"").doesNotContain("user=\"1001\"");
  }

  @Test
  void theyGoWithTheirReplica() {
    user.gauge("temperature").set(1);
    shown.close();
    assertThat(scrape()).doesNotContain("temperature");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a_created", "a_total_total", "a_created_total"})
  void suffixOfTheExpositionIsRefusedWhenTheMeterIsMade(String name) {
    assertThatThrownBy(() -> user.counter(name)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> user.gauge(name)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> user.histogram(name, new double[0]))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> user.describe(name, "x")).isInstanceOf(IllegalArgumentException.class);
  }
}
