package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ClusterConfig.ClusterPorts;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ClusterConfig.ClusterTls;
import dev.berth.config.ClusterConfig.ControlNodeAddress;
import dev.berth.config.ClusterConfig.JoinAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClusterOptionsTest {

  private static final String TLS =
      "tls: {cert_file: pom.xml, key_file: LICENSE, ca_file: pom.xml}";
  private static final String CONTROL =
      "name: prod, node: n1, role: control, control: ['n1@10.0.0.1:7420'], bind: 10.0.0.1, " + TLS;
  private static final String WORKER = "name: prod, node: n2, role: worker, bind: 10.0.0.2, " + TLS;
  private static final String TRIAL =
      "name: prod, node: n2, role: worker, bind: 127.0.0.1, insecure: true, ";

  @Test
  void withoutItThereIsNone() {
    assertThat(Yaml.options("").cluster()).isNull();
    assertThat(Yaml.options("berth: {cluster: null}").cluster()).isNull();
  }

  @Test
  void aControlNodeNeedsLittleMoreThanItsName() {
    Path pom = Path.of("pom.xml").toAbsolutePath();
    assertThat(cluster(CONTROL))
        .isEqualTo(
            new ClusterConfig(
                "prod",
                "n1",
                null,
                Map.of(),
                ClusterRole.CONTROL,
                List.of(new ControlNodeAddress("n1", "10.0.0.1", 7420)),
                List.of(new JoinAddress("10.0.0.1", 7420, false)),
                "10.0.0.1",
                "10.0.0.1",
                new ClusterPorts(7420, 7422, 7423, 7424, 7421),
                new ClusterTls(pom, Path.of("LICENSE").toAbsolutePath(), pom, true),
                Duration.ofMillis(500),
                Duration.ofSeconds(3),
                8 << 20,
                false,
                false,
                0));
  }

  @Test
  void everythingCanBeSaid() {
    ClusterConfig all =
        cluster(
            "name: prod, node: n2, zone: eu-1, labels: {disk: ssd}, role: worker, bind: '::',"
                + " advertise: n2.example, join: ['dns:berth.svc:7420', '[fd00::1]:1'],"
                + " ports: {control: 1, data: 2, consensus: 3, https: 4, bus: 5}, event_bus: true,"
                + TLS.replace("}", ", reload: false}, detection: ")
                + "{interval_ms: 100, timeout_ms: 200}, max_inflight_bytes_per_peer: 1048576");
    assertThat(all.zone()).isEqualTo("eu-1");
    assertThat(all.labels()).containsExactly(Map.entry("disk", "ssd"));
    assertThat(all.join())
        .containsExactly(
            new JoinAddress("berth.svc", 7420, true), new JoinAddress("fd00::1", 1, false));
    assertThat(all.join()).hasToString("[dns:berth.svc:7420, [fd00::1]:1]");
    assertThat(all.advertise()).isEqualTo("n2.example");
    assertThat(all.ports()).isEqualTo(new ClusterPorts(1, 2, 3, 4, 5));
    assertThat(all.eventBus()).isTrue();
    assertThat(all.tls()).extracting(ClusterTls::reload).isEqualTo(false);
    assertThat(all.timeout()).isEqualTo(Duration.ofMillis(200));
    assertThat(all.maxInflightBytesPerPeer()).isEqualTo(1 << 20);
  }

  @Test
  void aTrialOnOneMachineGoesWithoutCertificatesAndWithFreePorts() {
    ClusterConfig trial =
        cluster(
            TRIAL
                + "zone: '', control: ['n1@[::1]:7420'], ports: {control: 0, data: 0,"
                + " consensus: 0, https: 0, bus: 0}");
    assertThat(trial.tls()).isNull();
    assertThat(trial.zone()).isNull();
    assertThat(trial.join()).containsExactly(new JoinAddress("::1", 7420, false));
    assertThat(trial.ports()).isEqualTo(new ClusterPorts(0, 0, 0, 0, 0));
  }

  @ParameterizedTest
  @CsvSource({
    "N1.Example.org, n1-example-org",
    "a_b, a-b",
    "0123456789012345678901234567890123456789012345678901234567890123456,"
        + "012345678901234567890123456789012345678901234567890123456789012"
  })
  void aNodeIsCalledAsItsHostUnlessItIsToldOtherwise(String host, String node) {
    assertThat(ClusterOptions.nameOf(host)).isEqualTo(node);
    assertThat(
            ClusterOptions.isName(cluster(WORKER.replace("node: n2, ", "join: ['a:1'],")).node()))
        .isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"N1", "n.1", "n_1", "''", "'n 1'", "é"})
  void aNameIsOneOfEveryCertificateAndEveryAddress(String name) {
    for (String key : List.of("name: prod", "node: n1")) {
      String said = key.substring(0, 6) + name;
      onlyProblem(problems(WORKER.replace("n2", "n1").replace(key, said) + ", join: ['a:1']"))
          .contains("berth.cluster." + said.substring(0, 4), "1 to 63 of a-z, 0-9 and -");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"10.0.0.1:7420", "n1@10.0.0.1", "N1@a:1", "n1@a:65536", "n1@a b:1", "n1@:1"})
  void aControlNodeIsItsNameAndItsAddress(String text) {
    onlyProblem(problems(CONTROL.replace("n1@10.0.0.1:7420", text)))
        .contains("berth.cluster.control[0]: \"" + text, "(expected: name@host:port)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"dns:", "a", "a:b", "n1@a:1", "::1:7420"})
  void whereToJoinIsAnAddressOrANameOfSeveral(String text) {
    onlyProblem(problems(WORKER + ", join: ['" + text + "']"))
        .contains("berth.cluster.join[0]: \"" + text, "(expected: host:port, or dns:host:port)");
  }

  @Test
  void thereIsOneControlNode() {
    onlyProblem(problems(CONTROL.replace("7420'", "7420', 'n2@10.0.0.2:7420'")))
        .endsWith(
            "berth.cluster.control: 2 control nodes, and this version supports only one (expected: one)");
  }

  @Test
  void aControlNodeIsInControlAndAWorkerIsNot() {
    String expected = "(expected: n1@host:port, since role of n1 is control)";
    onlyProblem(problems(CONTROL.replace("['n1@10.0.0.1:7420']", "[]"))).endsWith(expected);
    onlyProblem(problems(CONTROL.replace("control: ['n1@10.0.0.1:7420'], ", "")))
        .endsWith(expected);
    onlyProblem(problems(CONTROL.replace("n1@", "n7@")))
        .endsWith("berth.cluster.control: without n1 " + expected);
    onlyProblem(problems(WORKER + ", control: ['n2@a:1']"))
        .endsWith("berth.cluster.control: with n2, whose role is worker (expected: another)");
  }

  @Test
  void aWorkerKnowsWhomToAsk() {
    onlyProblem(problems(WORKER))
        .endsWith(
            "berth.cluster.join: missing (expected: address of the control node, as host:port, or"
                + " dns:host:port)");
    assertThat(problems(WORKER + ", control: ['n1@a:1']")).isEmpty();
    assertThat(problems(WORKER + ", join: ['a:1']")).isEmpty();
  }

  @Test
  void nodesKnowEachOtherByCertificatesUnlessNobodyElseCanReachThem() {
    onlyProblem(problems(CONTROL.replace(", " + TLS, "")))
        .contains("berth.cluster.tls: missing", "insecure: true, if every address");
    onlyProblem(problems(CONTROL.replace(TLS, "tls: {cert_file: pom.xml, key_file: pom.xml}")))
        .contains("berth.cluster.tls.ca_file: missing");
    onlyProblem(problems(TRIAL + "join: ['localhost:1'], " + TLS))
        .endsWith("berth.cluster.insecure: true, with tls (expected: only one of the two)");
  }

  @ParameterizedTest
  @CsvSource({
    "bind, 10.0.0.1",
    "bind, n1.example",
    "advertise, 10.0.0.1",
    "control, ['n1@10.0.0.1:1']",
    "join, '[''127.0.0.1:1'', ''dns:10.0.0.1:1'']'"
  })
  void withoutCertificatesEveryAddressIsOfThisMachine(String key, String value) {
    String said = key.equals("control") ? "" : "control: ['n1@127.0.0.1:1'], ";
    String trial = key.equals("bind") ? TRIAL.replace("bind: 127.0.0.1, ", "") : TRIAL;
    onlyProblem(problems(trial + said + key + ": " + value))
        .contains("berth.cluster." + key + ": ", "reachable from other machines");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0", "'::'", "'0:0:0:0:0:0:0:0'"})
  void whoListensEverywhereSaysWhereItIsReached(String everywhere) {
    String worker = WORKER.replace("bind: 10.0.0.2", "join: ['a:1'], bind: " + everywhere);
    onlyProblem(problems(worker)).contains("berth.cluster.advertise: missing");
    onlyProblem(problems(worker + ", advertise: " + everywhere))
        .contains("berth.cluster.advertise: ", "which is not reachable");
    assertThat(problems(worker + ", advertise: 10.0.0.2")).isEmpty();
  }

  @Test
  void portsAreAllDifferent() {
    onlyProblem(problems(CONTROL + ", ports: {data: 7423}"))
        .endsWith(
            "berth.cluster.ports.consensus: 7423, the default, twice (expected: unique; data has it already)");
    assertThat(problems(CONTROL + ", ports: {data: 7420, https: 7420}")).hasSize(2);
  }

  @Test
  void aNodeIsNotSuspectedForOneSignOfLife() {
    onlyProblem(problems(CONTROL + ", detection: {interval_ms: 2000}"))
        .endsWith(
            "berth.cluster.detection.timeout_ms: 3000 (expected: at least twice interval_ms, 4000)");
  }

  @Test
  void upstreamsMoveNeverOrAfterMoreThanTwiceTheTimeout() {
    assertThat(cluster(CONTROL + ", move_after_s: never").moveAfter()).isZero();
    assertThat(cluster(CONTROL + ", move_after_s: 6.5").moveAfter()).isEqualTo(6_500);
    onlyProblem(problems(CONTROL + ", move_after_s: 6"))
        .endsWith(
            "berth.cluster.move_after_s: 6 (expected: more than twice detection.timeout_ms, or"
                + " never)");
    onlyProblem(problems(CONTROL + ", move_after_s: soon"))
        .endsWith(
            "berth.cluster.move_after_s: \"soon\", a string (expected: never, or a number of seconds above 0,"
                + " at most 31536000)");
  }

  @Test
  void aControlNodeKeepsWhatIsAgreed() {
    String ephemeral = "berth: {ephemeral: true, cluster: {";
    onlyProblem(Yaml.optionProblems(ephemeral + CONTROL + "}}"))
        .endsWith(
            "berth.ephemeral: true, on a control node (expected: false, or cluster.role: worker)");
    assertThat(Yaml.optionProblems(ephemeral + WORKER + ", join: ['a:1']}}")).isEmpty();
  }

  @Test
  void workerAdoptsNoNodes() {
    onlyProblem(problems(WORKER + ", join: ['a:1'], adopt: '?'"))
        .endsWith("berth.cluster.adopt: set, on a worker (expected: control node only)");
    assertThat(problems(CONTROL + ", adopt: 'c1:1'")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "messages: direct, '', false, false",
    "messages: event_bus, '', true, false",
    "messages: direct, ', event_bus: true', false, true",
    "messages: event_bus, ', event_bus: true', true, true"
  })
  void nodeOpensTheBusForBerthOrForApplications(
      String messages, String bus, boolean ofBerth, boolean ofApplications) {
    ClusterConfig node =
        Yaml.options("berth: {" + messages + ", cluster: {" + CONTROL + bus + "}}").cluster();
    assertThat(node.busMessages()).isEqualTo(ofBerth);
    assertThat(node.eventBus()).isEqualTo(ofApplications);
    assertThat(node.opensBus()).isEqualTo(ofBerth || ofApplications);
  }

  @Test
  void busPortConflictsWhereItIsGivenOrOpen() {
    String taken = CONTROL + ", ports: {data: 7421}";
    assertThat(problems(taken)).as("of a port that stays closed").isEmpty();
    String twice =
        "berth.cluster.ports.bus: 7421, the default, twice (expected: unique; data has it already)";
    onlyProblem(problems(taken + ", event_bus: true")).endsWith(twice);
    onlyProblem(Yaml.optionProblems("berth: {messages: event_bus, cluster: {" + taken + "}}"))
        .endsWith(twice);
    onlyProblem(problems(CONTROL + ", event_bus: true, ports: {bus: 7424}"))
        .endsWith("berth.cluster.ports.bus: 7424 twice (expected: unique; https has it already)");
    onlyProblem(problems(CONTROL + ", event_bus: 7")).contains("berth.cluster.event_bus: 7");
  }

  @Test
  void everythingThatIsWrongIsToldAtOnce() {
    assertThat(
            problems(
                "name: Prod, node: n1, role: control, control: ['n2@a:1'], bind: 0.0.0.0, ports:"
                    + " {data: 7420}, detection: {timeout_ms: 500}"))
        .hasSize(6);
  }

  private static ClusterConfig cluster(String keys) {
    return Yaml.options("berth: {cluster: {" + keys + "}}").cluster();
  }

  private static List<String> problems(String keys) {
    return Yaml.optionProblems("berth: {cluster: {" + keys + "}}");
  }
}
