package dev.berth.controller.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.controller.Epoch;
import dev.berth.controller.PolicySource;
import dev.berth.controller.UpstreamShare;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What crosses between instances is read as it was meant, settings and all. */
class JsonFormTest {
  private static final Epoch EPOCH = new Epoch(2, 7, "n1~5f");
  private static final UpstreamShare SHARE = new UpstreamShare(3L << 32, 4, 10_000);
  private static final DeploymentId MODEL = new DeploymentId("app", "model");

  /** What a file may say of a deployment, beside each other but for the two last. */
  private static final List<List<String>> SAID =
      List.of(
          List.of("max_ongoing_requests: 7", "max_ongoing_requests: 65535"),
          List.of("max_queued_requests: -1", "max_queued_requests: 12"),
          List.of("backpressure_config: {status_code: 429, retry_after_s: 3}"),
          List.of("graceful_shutdown_timeout_s: 0.25", "graceful_shutdown_timeout_s: 0"),
          List.of("health_check_period_s: 0.000000001, health_check_timeout_s: 86400.5"),
          List.of("logging_config: {log_level: DEBUG, encoding: JSON, enable_access_log: true}"),
          List.of("rolling_update_percentage: 0.3333333333333333", "rolling_update_percentage: 1"),
          List.of("max_surge_percent: 0", "max_surge_percent: 33.3"),
          List.of(
              "user_config: {a: {b: [1, 2.5, null, {c: 'true'}], big: 9007199254740993}, '1': 1.0e-9}",
              "user_config: {}",
              "user_config: {text: \"\\x7f é \\U0001F600 '5'\", no: false, far: -1.0e+300}"),
          List.of(
              "request_router_config: {request_router_class: consistent_hash,"
                  + " request_router_kwargs: {virtual_nodes: 50, load_factor: 1.5}}",
              "request_router_config: {request_router_class: com.acme.Near,"
                  + " request_router_kwargs: {deep: {er: [true]}}}"),
          List.of(
              "berth: {spread: event_loops, cancel_grace_s: 0, max_zombie_requests: 3}",
              "berth: {queue_timeout_s: 1.5, version: '5', reservation_ttl_s: 2}",
              "berth: {request_timeout_s: 12.345678901, replica_start_timeout_s: 9}"),
          List.of("num_replicas: 3", "num_replicas: auto"),
          List.of(
              "autoscaling_config: {min_replicas: 0, max_replicas: 9, target_ongoing_requests: 0.1}",
              "autoscaling_config: {max_replicas: 4, upscale_smoothing_factor: 0.6,"
                  + " aggregation_function: max, policy: {name: com.acme.Pace,"
                  + " policy_kwargs: {x: [1, {y: null}]}}}"));

  private static final List<String> AROUND =
      List.of(
          "logging_config: {log_level: ERROR}",
          "berth: {request_timeout_s: 5}",
          "logging_config: {enable_access_log: true}");

  private static Settings settings(Random random) {
    List<String> said = new ArrayList<>();
    said.add("name: model");
    int last = random.nextInt(3); // of the two last, or none
    for (int i = 0; i < SAID.size(); i++) {
      boolean ofBoth = i >= SAID.size() - 2;
      if (ofBoth ? i == SAID.size() - 1 - last : random.nextBoolean()) {
        said.add(SAID.get(i).get(random.nextInt(SAID.get(i).size())));
      }
    }
    String entry = "import_path: a.B, deployments: [{" + String.join(", ", said) + "}]";
    if (random.nextBoolean()) {
      entry += ", " + AROUND.get(random.nextInt(2));
    }
    String file = "applications: [{" + entry + "}]\n";
    if (random.nextBoolean()) {
      file += AROUND.get(2) + "\nberth: {limits: {max_reservation_ttl_s: 4}}\n";
    }
    ApplicationConfig application = Yaml.read(file).applications().get(0);
    Deployment code = Deployment.of("model", any -> null).withMaxOngoingRequests(5);
    Settings whole = application.deployment(code);
    double percent = random.nextInt(3) * 50;
    Settings some = DeploymentConfig.atCapacity(whole, percent == 50 ? null : percent, false);
    return random.nextBoolean() ? some : DeploymentConfig.withReplicas(some, random.nextInt(3));
  }

  private static DeploymentTarget target(int seed) {
    return new DeploymentTarget(
        MODEL,
        "build" + seed,
        new DeploymentVersion("c" + seed, "l"),
        settings(new Random(seed)),
        seed,
        "/p" + seed);
  }

  private static ReplicaInfo info(String id, String node, OptionalInt port) {
    return new ReplicaInfo(
        id,
        MODEL,
        new ReplicaAddress(node, 3, 17, Long.MIN_VALUE + 1),
        5,
        4096,
        true,
        false,
        port.isPresent() ? "10.0.0.1" : null,
        port,
        port.isPresent() ? "a" : null,
        Map.of("k", "v"));
  }

  // --- settings ---

  @Test
  void settingsHoldWhatTheyHeldBesideThoseAroundThem() {
    for (int seed = 0; seed < 400; seed++) {
      DeploymentTarget sent = target(seed);
      DeploymentTarget read = read(new Configure(EPOCH, sent), Configure.class).target();

      assertThat(read).as("seed %s", seed).isEqualTo(sent);
      assertThat(read.revision()).isEqualTo(seed);
      assertThat(read.settings().toMap()).as("seed %s", seed).isEqualTo(sent.settings().toMap());
      assertThat(DeploymentConfig.autoscales(read.settings()))
          .as("seed %s", seed)
          .isEqualTo(DeploymentConfig.autoscales(sent.settings()));
      DeploymentTarget more = read.withReplicas(9);
      assertThat(more).as("changed as the other, seed %s", seed).isEqualTo(sent.withReplicas(9));
    }
  }

  @Test
  void whatCodeSaysOfItsHandlersIsReadAsAFileWouldBe() {
    Map<String, Object> given = new LinkedHashMap<>();
    given.put("list", List.of(1, 2L << 40, 0.5, "x", Map.of("in", true)));
    given.put("none", null);
    Settings said = DeploymentConfig.of("model").with(DeploymentConfig.USER_CONFIG, given);
    DeploymentTarget sent = new DeploymentTarget(MODEL, "b", new DeploymentVersion("c", "l"), said);

    assertThat(read(new Configure(EPOCH, sent), Configure.class).target()).isEqualTo(sent);
  }

  @Test
  void aSettingThatIsNoneIsNamed() {
    String text = JsonForm.COMMANDS.encode(new Configure(EPOCH, target(1))).encode();
    JsonObject sent = new JsonObject(text);
    JsonObject settings = sent.getJsonArray("targets").getJsonObject(0).getJsonObject("settings");
    settings.put("of_tomorrow", 1).getJsonObject("berth").put("of_tomorrow", "x");
    assertThat(((Configure) JsonForm.COMMANDS.decode(sent)).target()).isEqualTo(target(1));

    settings.put("max_ongoing_requests", "many");
    assertThatThrownBy(() -> JsonForm.COMMANDS.decode(sent))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("max_ongoing_requests: unreadable (expected: an integer from 1");
    settings.remove("name");
    assertThatThrownBy(() -> JsonForm.COMMANDS.decode(sent))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("name: missing (expected: a non-empty string");
  }

  // --- commands ---

  static List<Command> commands() {
    DeploymentTarget target = target(3);
    return List.of(
        new Build(EPOCH, "app", 1L << 40),
        new DiscardBuild(EPOCH, "app", "b"),
        new StartReplica(EPOCH, "n2~6", target, "app#model#1", "http://10.0.0.7:8000#big"),
        new ShareUpstream(EPOCH, "n2~6", "app#model#1", SHARE),
        new ControllerAction.ProbeUpstream(EPOCH, "n3~3", target, "app#model#1", "http://h"),
        new ReconfigureReplica(EPOCH, "n2~6", "app#model#1", target),
        new StopReplica(
            EPOCH, "n2~6", "app#model#1", Duration.ofSeconds(20, 5), "fewer are wanted"),
        new Configure(EPOCH, target),
        new Remember(EPOCH, MODEL, target),
        new Remember(EPOCH, MODEL, null),
        new Forget(EPOCH, MODEL),
        new RouteTo(EPOCH, "app", "/a", MODEL, null),
        new RouteTo(EPOCH, "app", null, MODEL, traffic()),
        new SplitEndpoint(EPOCH, "/e", Map.of("app#model", 0.1, "other#x", 3.0)),
        new Unroute(EPOCH, "app"));
  }

  /** Of an application with everything that may be said of a route. */
  private static Settings traffic() {
    String text =
        """
        applications:
        - import_path: a.B
          berth:
            request_timeout_s: 3
            traffic: [{deployment: model, weight: 0.3}, {deployment: b, weight: 2}]
            match:
            - {header: X-Who, regex: "a.*", deployment: b}
            - {method: POST, deployment: model}
            - {query: v, prefix: "1", deployment: b}
            shadow: [{deployment: c, fraction: 0.05, compare: true}]
            shard_key: {path: 2}
        """;
    Settings traffic = Yaml.read(text).applications().get(0).routeSettings();
    assertThat(traffic).isNotNull();
    return traffic;
  }

  @ParameterizedTest
  @MethodSource("commands")
  void aCommandIsReadAsItWasGiven(Command command) {
    assertThat(JsonForm.COMMANDS.kinds().contains(command.getClass())).isTrue();
    assertThat(read(command, Command.class)).isEqualTo(command);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void whatACommandLacksIsNamed(Command command) {
    JsonObject whole = JsonForm.COMMANDS.encode(command);
    for (String name : whole.fieldNames()) {
      JsonObject less = new JsonObject(whole.encode());
      if (less.remove(name) != null) {
        boolean mayLack = name.equals("traffic") || name.equals("complete");
        if (mayLack || name.equals("prefix")) {
          assertThat(JsonForm.COMMANDS.decode(less)).isNotEqualTo(command);
        } else {
          assertThatThrownBy(() -> JsonForm.COMMANDS.decode(less))
              .hasMessageContaining(name + ": missing");
        }
      }
    }
    whole.put("of_tomorrow", true);
    assertThat(JsonForm.COMMANDS.decode(whole)).isEqualTo(command);
  }

  @Test
  void whatIsForTheControllersOwnInstanceStaysThere() {
    PolicySource.PolicyScope scope = new PolicySource.PolicyScope("app", null);
    Command ask = new AskPolicy(EPOCH, new PolicySource(scope, "b", traffic()), List.of());
    assertThat(JsonForm.COMMANDS.kinds().contains(ask.getClass())).isFalse();
    assertThatThrownBy(() -> JsonForm.COMMANDS.encode(ask))
        .hasMessageStartingWith("kind: AskPolicy");
    assertThatThrownBy(() -> JsonForm.COMMANDS.decode(new JsonObject().put("kind", "Fly")))
        .hasMessageStartingWith("kind: Fly (expected: one of [Build, ");
  }

  private static <T extends Command> T read(Command command, Class<T> type) {
    String text = JsonForm.COMMANDS.encode(command).encode();
    return type.cast(JsonForm.COMMANDS.decode(new JsonObject(text)));
  }

  // --- events ---

  static List<ControllerEvent> events() {
    DeploymentVersion version = new DeploymentVersion("c", "");
    return List.of(
        new ControllerEvent.ReplicaRunning(info("r1", "n2~6", OptionalInt.of(0))),
        new ControllerEvent.ReplicaRunning(info("r2", "n2~6", OptionalInt.empty())),
        new ControllerEvent.ReplicaFailed("r1", "no"),
        new ControllerEvent.ReplicaWaits("r1", "", true),
        new ControllerEvent.UpstreamProbed("r1", "n3~3", true),
        new ControllerEvent.ReplicaReconfigured("r1", version),
        new ControllerEvent.ReconfigureFailed("r1", version, "no"),
        new UpstreamReport("r1", SHARE, 5, false, true),
        new ControllerEvent.ReplicaDraining("r1"),
        new ControllerEvent.ReplicaHealth("r1", false, "no"),
        new ControllerEvent.ReplicaSuspect("r1", true, "no"),
        new ControllerEvent.ReplicaStopped("r1"),
        new Inventory("n2~6", List.of(), List.of()),
        inventory(3));
  }

  private static Inventory inventory(int replicas) {
    List<Found> found = new ArrayList<>();
    ReplicaPhase[] phases = ReplicaPhase.values();
    for (int i = 0; i < replicas; i++) {
      found.add(
          new Found(
              info("r" + i, "n2~6", OptionalInt.empty()),
              target(4),
              i % 3 == 1 ? target(5) : null,
              phases[i % phases.length],
              i % 2 == 0,
              i % 2 == 1,
              1_700_000_000_000L + i,
              "",
              i % 2 == 0 ? "" : "closed: connection refused",
              i % 20 == 9 ? new UpstreamReport("r" + i, SHARE, 3, true) : null));
    }
    return new Inventory("n2~6", found, List.of(target(4), target(6)));
  }

  @ParameterizedTest
  @MethodSource("events")
  void anEventIsReadAsItWasTold(ControllerEvent event) {
    String text = JsonForm.EVENTS.encode(event).encode();
    assertThat(JsonForm.EVENTS.decode(new JsonObject(text))).isEqualTo(event);
  }

  @ParameterizedTest
  @MethodSource("events")
  void whatAnEventLacksIsNamed(ControllerEvent event) {
    JsonObject whole = JsonForm.EVENTS.encode(event);
    for (String name : whole.fieldNames()) {
      JsonObject less = new JsonObject(whole.encode());
      less.remove(name);
      assertThatThrownBy(() -> JsonForm.EVENTS.decode(less))
          .hasMessageContaining(name + ": missing");
    }
  }

  @Test
  void anInventoryTellsATargetOnceHoweverManyReplicasRunIt() {
    int few = JsonForm.EVENTS.encode(inventory(10)).encode().length();
    int many = JsonForm.EVENTS.encode(inventory(110)).encode().length();
    assertThat((many - few) / 100).as("characters for one more").isLessThan(450);

    DeploymentTarget again =
        new DeploymentTarget(MODEL, "build4", target(4).version(), target(4).settings(), 99, "");
    Inventory inventory = new Inventory("n", List.of(), List.of(target(4), again));
    assertThat(((Inventory) JsonForm.EVENTS.decode(JsonForm.EVENTS.encode(inventory))).complete())
        .extracting(DeploymentTarget::revision)
        .containsExactly(4L, 99L);
  }

  @Test
  void anInventoryOfATargetThatItDoesNotTellIsRefused() {
    JsonObject told = JsonForm.EVENTS.encode(inventory(1));
    told.getJsonArray("replicas").getJsonObject(0).put("target", 7);
    assertThatThrownBy(() -> JsonForm.EVENTS.decode(told))
        .hasMessage("replicas[0].target: 7 (expected: DeploymentTarget)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"phase", "next"})
  void whatNobodyKnowsOfAReplicaIsNamed(String name) {
    JsonObject told = JsonForm.EVENTS.encode(inventory(1));
    told.getJsonArray("replicas").getJsonObject(0).put(name, "FLYING");
    assertThatThrownBy(() -> JsonForm.EVENTS.decode(told))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("FLYING");
  }
}
