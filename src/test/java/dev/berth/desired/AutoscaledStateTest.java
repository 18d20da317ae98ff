package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.config.ConfigReader;
import dev.berth.controller.AutoscaledReplicaCount;
import dev.berth.controller.ControllerEvent.Paused;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What autoscaling found, and a pause of it, in what is kept. */
class AutoscaledStateTest extends ServeControlRig {
  private static final DeploymentId ID = new DeploymentId("a", "d");
  private static final String A =
      "{name: a, route_prefix: /a, import_path: x.A, deployments: [{name: d, num_replicas: auto}]}";

  @BeforeEach
  void start() {
    controls.autoscaled = Set.of("d");
    begin();
    deploy("a", A);
    controls.told.clear();
  }

  private void begin() {
    start(ConfigReader.read("file", folder, "applications: []"), new JournalLog(kept()));
  }

  private void restart() {
    stop();
    begin();
  }

  private static AutoscaledReplicaCount found(int replicas) {
    return new AutoscaledReplicaCount(replicas, false, "{\"tick\":" + replicas + "}");
  }

  private static AutoscaledReplicaCount paused(int replicas, @Nullable String state) {
    return new AutoscaledReplicaCount(replicas, true, state);
  }

  /** As a controller is told that starts now. */
  private @Nullable AutoscaledReplicaCount declared() {
    return find("a").autoscaled().get("d");
  }

  private void finds(@Nullable AutoscaledReplicaCount now) {
    control.autoscaled(ID, now);
    runAll();
  }

  private long changes() {
    return control.state.index();
  }

  @Test
  void aRestartBeginsWithTheLastNumberAndTheStateOfItsPolicy() {
    finds(found(7));
    restart();

    assertThat(declared()).isEqualTo(found(7));
  }

  @Test
  void ofAllThatIsFoundBeforeItsTurnOnlyTheLastIsWritten() {
    long before = changes();
    control.autoscaled(ID, found(0)); // its turn comes at once
    for (int i = 1; i <= 100; i++) {
      control.autoscaled(ID, found(i));
    }
    assertThat(control.waitingCommands()).as("for all of them").isEqualTo(1);
    runAll();
    assertThat(changes()).isEqualTo(before + 2);
    assertThat(declared()).isEqualTo(found(100));

    finds(found(100));
    assertThat(changes()).as("nothing is different").isEqualTo(before + 2);
  }

  @Test
  void commandsGoInTheirOrderAndAreNotCountedAmongWhatIsFound() {
    Future<?> first = submit(commands(), "b", "{name: b, route_prefix: /b, import_path: x.B}");
    control.autoscaled(ID, found(3));
    Future<?> second = commands().delete("a");
    assertThat(control.waitingCommands()).isEqualTo(2);
    ok(first);
    ok(second);

    assertThat(control.state.autoscaled.find(ID)).as("gone with the application").isNull();
    finds(found(4)); // the controller does not know yet
    deploy("a", A);
    assertThat(declared()).isNull();
  }

  @Test
  void aFullQueueOfCommandsTakesWhatIsFound() {
    for (int i = 0; i <= CommandQueue.MAX_COMMANDS; i++) {
      commands().scale("a", "d", i);
    }
    finds(found(3));

    assertThat(declared()).isEqualTo(found(3));
  }

  @Test
  void aDeploymentThatIsGoneIsForgotten() {
    control.autoscaled(ID, found(3));
    control.autoscaled(new DeploymentId("a", "other"), found(2));
    runAll();
    finds(null);

    assertThat(declared()).isNull();
    assertThat(control.state.autoscaled.find(new DeploymentId("a", "other"))).isEqualTo(found(2));
  }

  @Test
  void aPauseHoldsItsNumberUntilAutoscalingIsToGoOn() {
    finds(found(3));
    assertThat(ok(commands().pause("a", "d", 20))).isTrue();
    finds(found(4)); // was found before the controller knew
    AutoscaledReplicaCount holds = paused(20, found(3).policyState());
    assertThat(declared()).isEqualTo(holds);
    assertThat(controls.told).containsExactly(new Paused(ID, holds));

    deploy("a", A);
    deploy("a", A.replace("x.A", "x.A2"));
    restart();
    assertThat(declared()).as("a deploy is no answer to who paused it").isEqualTo(holds);

    controls.told.clear();
    assertThat(ok(commands().pause("a", "d", null))).isTrue();
    AutoscaledReplicaCount on = new AutoscaledReplicaCount(20, false, holds.policyState());
    assertThat(declared()).as("from where it stands").isEqualTo(on);
    assertThat(controls.told).containsExactly(new Paused(ID, on));
    finds(found(5));
    assertThat(declared()).isEqualTo(found(5));
  }

  @Test
  void aPauseThatSaysNothingNewWritesNothing() {
    ok(commands().pause("a", "d", null)); // nothing was found yet
    ok(commands().pause("a", "d", 2));
    long before = changes();
    ok(commands().pause("a", "d", 2));

    assertThat(changes()).isEqualTo(before);
    assertThat(controls.told).containsExactly(new Paused(ID, paused(2, null)));
  }

  @Test
  void aPauseWithAnIdIsCarriedOutOnce() {
    ok(commands().once("x").pause("a", "d", 2));
    ok(commands().pause("a", "d", 3));
    assertThat(ok(commands().once("x").pause("a", "d", 2))).isTrue();

    assertThat(declared()).isEqualTo(paused(3, null));
    refused(CommandRejectionReason.INVALID, commands().once("x").pause("a", "d", null));
  }

  @Test
  void whoeverIsNotToSetTheNumberIsToldSoInRaysWords() {
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().scale("a", "d", 3)))
        .hasMessage(
            "Cannot update replicas for deployment 'd' in application 'a'. The external scaling API"
                + " can only be used when 'external_scaler_enabled' is set to true in the"
                + " application configuration. Current value: external_scaler_enabled=false.");
    refused(CommandRejectionReason.INVALID, commands().pause("a", "d", 10_001));
    refused(CommandRejectionReason.NOT_FOUND, commands().pause("a", "other", 1));
    controls.autoscaled = Set.of();
    assertThat(refused(CommandRejectionReason.PRECONDITION, commands().pause("a", "d", null)))
        .hasMessage("autoscaling: none of deployment a#d (expected: autoscaling_config)");
    assertThat(declared()).isNull();
    assertThat(ok(commands().pause("a", "d", 1))).as("there is nothing to pause").isFalse();
    assertThat(declared()).isNull();
    assertThat(control.state.find("a").scales()).isEqualTo(Map.of("d", 1));
  }

  @Test
  void withoutAutoscalingAPauseIsAScaleFromOutside() {
    controls.autoscaled = Set.of();
    deploy("a", "{name: a, route_prefix: /a, import_path: x.A, external_scaler_enabled: true}");

    assertThat(ok(commands().pause("a", "d", 4))).isFalse();
    assertThat(find("a").scales()).isEqualTo(Map.of("d", 4));
  }

  // --- as it is written ---

  private static DesiredState with(DesiredState state, @Nullable DesiredChange change) {
    return state.with(List.of(Objects.requireNonNull(change)));
  }

  private static DesiredState deployed(DesiredState on, @Nullable Double capacity, String... says) {
    Map<String, ApplicationSpec> all = new HashMap<>();
    Arrays.stream(says)
        .forEach(each -> all.put(each, new ApplicationSpec(null, "{}", List.of(), false, each)));
    return with(on, on.deploy(all, capacity, null, true, 1));
  }

  @Test
  void aCrashLeavesTheNumberBeforeOrTheNewOne() throws IOException {
    DesiredState state = deployed(DesiredState.EMPTY, null, "a");
    StateStoreTestFiles files = new StateStoreTestFiles();
    StateStore store = new StateStore(files, StateStore.MIN_GROWTH_BYTES);
    for (int replicas : new int[] {3, 5}) {
      DesiredChange change = state.autoscaled(Map.of(ID, found(replicas)));
      store.append(Objects.requireNonNull(change), state);
      state = with(state, change);
    }
    byte[] whole = files.bytes("state-00000001");
    Set<@Nullable AutoscaledReplicaCount> seen = new HashSet<>();
    for (int at = whole.length; at > 0; at--) {
      StateStoreRecords.StateFileContents left = StateStoreRecords.read(Arrays.copyOf(whole, at));
      if (left.records().size() < 2) {
        break; // before the first was acknowledged
      }
      seen.add(DesiredState.EMPTY.with(left.records()).autoscaled.find(ID));
    }
    assertThat(seen).containsExactlyInAnyOrder(found(3), found(5));
    assertThat(new StateStore(files.killed(), 1).recovered.whole()).isEqualTo(state.whole());
  }

  @Test
  void whatIsWrittenIsReadAgainAndAStateWithoutItToo() {
    DesiredState state = deployed(DesiredState.EMPTY, 50.0, "a");
    state = with(state, state.autoscaled(Map.of(ID, found(3))));
    state = with(state, state.pause(new DeploymentId("a", "e"), 2));
    JsonObject json = new JsonObject(state.whole().toJson().encode());

    assertThat(DesiredChange.of(state.index(), json)).isEqualTo(state.whole());
    json.remove("autoscaled");
    json.remove("capacity_rises");
    DesiredChange older = DesiredChange.of(state.index(), json);
    assertThat(older.autoscaled().all()).isEmpty();
    assertThat(older.head().rises()).isFalse();
  }

  @Test
  void theCapacityRisesFromNothingAndWhenMoreIsSaidThanBefore() {
    DesiredState first = deployed(DesiredState.EMPTY, 50.0, "a");
    DesiredState more = deployed(first, 60.0, "a");
    DesiredState less = deployed(more, 40.0, "a");

    assertThat(first.head.rises()).isTrue();
    assertThat(more.head.rises()).isTrue();
    assertThat(deployed(more, 60.0, "b").head.rises()).as("the same").isTrue();
    assertThat(less.head.rises()).isFalse();
    assertThat(deployed(less, null, "a").head.rises()).isFalse();
    DesiredState whole = deployed(DesiredState.EMPTY, null, "a");
    assertThat(whole.head.rises()).isFalse();
    assertThat(deployed(whole, 90.0, "a").head.rises()).as("from all").isFalse();
  }
}
