package dev.berth.config;

import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ClusterConfig.ControlNodeAddress;
import dev.berth.config.ClusterConfig.JoinAddress;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import dev.berth.config.keys.YamlScalars;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * {@code berth.cluster}: membership of the instance in a cluster. Without this setting the instance
 * is not in a cluster.
 */
public final class ClusterOptions {

  private static final Type<String> NAME_TYPE =
      Types.string("1 to 63 of a-z, 0-9 and -", "^" + ClusterConfig.NAME + "$");
  private static final Type<String> ZONE_TYPE =
      Types.string("empty, or a name as above", "^(" + ClusterConfig.NAME + ")?$");
  private static final Type<ControlNodeAddress> CONTROL_TYPE =
      Types.parsed(
          "name@host:port",
          ControlNodeAddress::parse,
          Schema.text("^" + ClusterConfig.NAME + "@" + ClusterConfig.ADDRESS + "$"));
  private static final Type<JoinAddress> JOIN_TYPE =
      Types.parsed(
          "host:port, or dns:host:port",
          JoinAddress::parse,
          Schema.text("^(dns:)?" + ClusterConfig.ADDRESS + "$"));

  // --- ports ---

  private static final Keys PORT_KEYS = new Keys();

  public static final ConfigKey<Integer> CONTROL_PORT =
      PORT_KEYS.key("control", Types.PORT, 7420).means("Port of heartbeats and commands.");
  public static final ConfigKey<Integer> DATA_PORT =
      PORT_KEYS.key("data", Types.PORT, 7422).means("Port of requests and responses.");
  public static final ConfigKey<Integer> CONSENSUS_PORT =
      PORT_KEYS
          .key("consensus", Types.PORT, 7423)
          .means("Port of the consensus log, on the loopback interface with one control node.");
  public static final ConfigKey<Integer> HTTPS_PORT =
      PORT_KEYS
          .key("https", Types.PORT, 7424)
          .means("Port of the admin server and jars of this node, for other nodes.");
  public static final ConfigKey<Integer> BUS_PORT =
      PORT_KEYS
          .key("bus", Types.PORT, 7421)
          .means(
              "Port of the event bus between nodes. Open only with berth.messages: event_bus, or"
                  + " with event_bus: true.");

  private static final List<ConfigKey<Integer>> OPEN_PORTS =
      List.of(CONTROL_PORT, DATA_PORT, CONSENSUS_PORT, HTTPS_PORT);

  // --- tls ---

  private static final Keys TLS_KEYS = new Keys();

  public static final ConfigKey<Path> CERT_FILE =
      TLS_KEYS
          .required("cert_file", Types.FILE)
          .means(
              "Certificate in PEM. Its CN or a DNS name is the node's name, or worker.NAME for any"
                  + " worker of cluster NAME.");
  public static final ConfigKey<Path> KEY_FILE =
      TLS_KEYS.required("key_file", Types.FILE).means("Private key in PEM, PKCS #8.");
  public static final ConfigKey<Path> CA_FILE =
      TLS_KEYS
          .required("ca_file", Types.FILE)
          .means(
              "CA certificates in PEM that must have signed every node's certificate: a CA of this"
                  + " cluster only.");
  public static final ConfigKey<Boolean> RELOAD =
      TLS_KEYS
          .key("reload", Types.BOOL, true)
          .means(
              "Whether the files are reloaded when they change. The event bus reads them at its start.");

  // --- detection ---

  private static final Keys DETECTION_KEYS = new Keys();

  public static final ConfigKey<Duration> INTERVAL_MS =
      DETECTION_KEYS
          .key("interval_ms", Types.millis(20, 60_000), Duration.ofMillis(500))
          .means("Time between two heartbeats of a node.");
  public static final ConfigKey<Duration> TIMEOUT_MS =
      DETECTION_KEYS
          .key("timeout_ms", Types.millis(40, 600_000), Duration.ofMillis(3_000))
          .means("Silence after which a node is suspected; at least twice interval_ms.");

  // --- berth.cluster ---

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Boolean> EVENT_BUS =
      KEYS.key("event_bus", Types.BOOL, false)
          .means(
              "Whether consumers of the applications on vertx.eventBus() receive messages of all"
                  + " nodes. Otherwise only those of their own node.");
  public static final ConfigKey<String> NAME =
      KEYS.required("name", NAME_TYPE).means("Cluster name. Nodes of others are refused.");
  public static final ConfigKey<String> NODE =
      KEYS.key("node", NAME_TYPE)
          .fallback(settings -> nameOfHost(), "the host's name, in lower case, with - for dots")
          .means("Name of this node, unique among running nodes.");
  public static final ConfigKey<String> ZONE =
      KEYS.key("zone", ZONE_TYPE, "")
          .means("Failure domain of the node: nodes of one zone may fail together. Empty: none.");
  public static final ConfigKey<Map<String, @Nullable Object>> LABELS =
      KEYS.key("labels", Types.TEXT_MAP, Map.of()).means("Further properties, shown by status.");
  public static final ConfigKey<String> ADOPT =
      KEYS.optional("adopt", Types.TEXT)
          .means(
              "For one start of a control node with lost or older state: the state that its nodes"
                  + " adopt, as shown by berth run --adopt with the replicas that would stop. It"
                  + " has no effect on later starts.");
  public static final ConfigKey<ClusterRole> ROLE =
      KEYS.required("role", Types.words(ClusterRole.class))
          .means(
              "Both roles serve. A control node stores the deployed applications and decides their"
                  + " placement; it is listed in control.");
  public static final ConfigKey<List<ControlNodeAddress>> CONTROL =
      KEYS.key("control", Types.list(CONTROL_TYPE), List.of())
          .means("Control node by name, with the address of its control port.");
  public static final ConfigKey<List<JoinAddress>> JOIN =
      KEYS.key("join", Types.list(JOIN_TYPE))
          .fallback(ClusterOptions::joinAddresses, "the addresses in control")
          .means(
              "Addresses of the control node, for a worker. After dns:, each address of the name is"
                  + " one; it is resolved for each attempt.");
  public static final ConfigKey<String> BIND =
      KEYS.required("bind", Types.TEXT)
          .means("Listen name or address of the ports. 0.0.0.0 requires advertise.");
  public static final ConfigKey<String> ADVERTISE =
      KEYS.key("advertise", Types.TEXT)
          .fallback(settings -> settings.around(BIND), "bind")
          .means("Name or address of this node for other nodes.");
  public static final ConfigKey<Settings> PORTS =
      KEYS.mapping("ports", PORT_KEYS.section().check(ClusterOptions::checkPorts))
          .means("Ports of the node, all different; 0 selects a free one.");
  public static final ConfigKey<Settings> TLS =
      KEYS.optional("tls", TLS_KEYS.section())
          .means("Mutual authentication of nodes, on every port. Required unless insecure.");
  public static final ConfigKey<Boolean> INSECURE =
      KEYS.key("insecure", Types.BOOL, false)
          .means("Disables TLS if every address is of this machine: for trials.");
  public static final ConfigKey<Settings> DETECTION =
      KEYS.mapping("detection", DETECTION_KEYS.section().check(ClusterOptions::checkDetection))
          .means("Detection of silent nodes. The same on all nodes.");
  public static final ConfigKey<Long> MAX_INFLIGHT_BYTES_PER_PEER =
      KEYS.key("max_inflight_bytes_per_peer", Types.bytes(256 << 10, 1 << 30), 8L << 20)
          .means(
              "Maximum of unacknowledged bytes to one node. A message beyond it is tried elsewhere."
                  + " A larger message is sent if almost nothing else is in flight.");

  public static final ConfigKey<Duration> UNAVAILABLE_TIMEOUT_S =
      KEYS.key("unavailable_timeout_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(5))
          .means(
              "Time that requests wait for a deployment without a reachable replica while there is"
                  + " no controller to replace it; then they get 503 deployment_unavailable."
                  + " Requests for a deployment scaled to zero keep waiting.");

  public static final ConfigKey<Duration> MOVE_AFTER_S =
      KEYS.key("move_after_s", Types.SECONDS_OR_NEVER, Duration.ZERO)
          .means(
              "Time after which the controller gives the upstreams of an unreachable node to other"
                  + " nodes. The node stops using them before. More than twice"
                  + " detection.timeout_ms. never: only once the node is known to be free of them."
                  + " Read by the control node.");

  static final Section SECTION = KEYS.section().check(ClusterOptions::check);

  /** Returns the settings as a checked value. */
  static ClusterConfig of(Settings cluster) {
    String zone = cluster.get(ZONE);
    Map<String, String> labels = new LinkedHashMap<>();
    cluster.get(LABELS).forEach((key, value) -> labels.put(key, (String) value));
    Settings tls = cluster.find(TLS);
    return new ClusterConfig(
        cluster.get(NAME),
        cluster.get(NODE),
        zone.isEmpty() ? null : zone,
        labels,
        cluster.get(ROLE),
        cluster.get(CONTROL),
        cluster.get(JOIN),
        cluster.get(BIND),
        cluster.get(ADVERTISE),
        new ClusterConfig.ClusterPorts(
            cluster.get(CONTROL_PORT),
            cluster.get(DATA_PORT),
            cluster.get(CONSENSUS_PORT),
            cluster.get(HTTPS_PORT),
            cluster.get(BUS_PORT)),
        tls == null
            ? null
            : new ClusterConfig.ClusterTls(
                tls.get(CERT_FILE), tls.get(KEY_FILE), tls.get(CA_FILE), tls.get(RELOAD)),
        cluster.get(INTERVAL_MS),
        cluster.get(TIMEOUT_MS),
        cluster.get(MAX_INFLIGHT_BYTES_PER_PEER),
        cluster.around(InstanceOptions.MESSAGES) == MessageTransport.EVENT_BUS,
        cluster.get(EVENT_BUS),
        cluster.get(MOVE_AFTER_S).toMillis());
  }

  private static String nameOfHost() {
    try {
      return nameOf(InetAddress.getLocalHost().getHostName());
    } catch (UnknownHostException unnamed) {
      return "localhost"; // no certificate permits this name
    }
  }

  /** Returns the default node name for a host name. */
  static String nameOf(String host) {
    String name = host.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9-]", "-");
    return name.substring(0, Math.min(63, name.length()));
  }

  /** Returns whether a text is a valid name of a cluster or node. */
  public static boolean isName(String text) {
    return text.matches(ClusterConfig.NAME);
  }

  private static List<JoinAddress> joinAddresses(Settings cluster) {
    return list(cluster, CONTROL).stream()
        .map(each -> new JoinAddress(each.host(), each.port(), false))
        .toList();
  }

  /** Returns the list; empty when it is invalid. */
  private static <T> List<T> list(Settings values, ConfigKey<List<T>> key) {
    return Objects.requireNonNullElse(values.around(key), List.of());
  }

  // --- rules ---

  private static void check(Settings values) {
    checkControl(values);
    checkAdvertised(values);
    checkMoveAfter(values);
    if (values.gives(ADOPT) && values.find(ROLE) == ClusterRole.WORKER) {
      values.problem(ADOPT, "set, on a worker", "control node only");
    }
    Boolean insecure = values.find(INSECURE);
    if (Boolean.TRUE.equals(insecure)) {
      checkInsecure(values);
    } else if (insecure != null && !values.gives(TLS)) {
      String waiver = "; or insecure: true, if every address is of this machine";
      values.problem(TLS, "missing", "cert_file, key_file and ca_file" + waiver);
    }
  }

  private static void checkControl(Settings values) {
    List<ControlNodeAddress> control = list(values, CONTROL);
    ClusterRole role = values.find(ROLE);
    String node = values.find(NODE);
    boolean named = control.stream().anyMatch(each -> each.name().equals(node));
    if (control.size() > 1) {
      values.problem(
          CONTROL, control.size() + " control nodes, and this version supports only one", "one");
    } else if (role == ClusterRole.CONTROL && node != null && !named && knowsAll(values, CONTROL)) {
      values.problem(
          CONTROL, "without " + node, node + "@host:port, since role of " + node + " is control");
    } else if (role == ClusterRole.WORKER && named) {
      values.problem(CONTROL, "with " + node + ", whose role is worker", "another");
    } else if (role == ClusterRole.WORKER
        && list(values, JOIN).isEmpty()
        && knowsAll(values, CONTROL)
        && knowsAll(values, JOIN)) {
      values.problem(JOIN, "missing", "address of the control node, as " + JOIN_TYPE.expected());
    }
  }

  private static void checkMoveAfter(Settings values) {
    Duration after = values.find(MOVE_AFTER_S);
    Settings detection = values.find(DETECTION);
    Duration timeout = detection == null ? null : detection.find(TIMEOUT_MS);
    if (after != null
        && timeout != null
        && !after.isZero()
        && after.compareTo(timeout.multipliedBy(2)) <= 0) {
      String given = MOVE_AFTER_S.type().write(after);
      values.problem(MOVE_AFTER_S, given, "more than twice detection.timeout_ms, or never");
    }
  }

  /** Returns whether all items of a list are valid; invalid items are reported and omitted. */
  private static <T> boolean knowsAll(Settings values, ConfigKey<List<T>> key) {
    Node given = values.marks().given().get(key.name());
    return given == null
        || (given instanceof SequenceNode items
            && items.getValue().size() == list(values, key).size());
  }

  private static void checkAdvertised(Settings values) {
    String bind = values.find(BIND);
    String advertise = values.find(ADVERTISE);
    if (bind == null || advertise == null || !isEverywhere(advertise)) {
      return;
    }
    if (values.gives(ADVERTISE)) {
      values.problem(ADVERTISE, '"' + advertise + "\", which is not reachable", "an address");
    } else {
      values.problem(ADVERTISE, "missing", "an address, since bind is any of the machine");
    }
  }

  private static boolean isEverywhere(String host) {
    return host.matches("0+(\\.0+){3}|[0:]*:[0:]*");
  }

  private static void checkInsecure(Settings values) {
    if (values.gives(TLS)) {
      values.problem(INSECURE, "true, with tls", "only one of the two");
    }
    requireLoopback(values, BIND, Stream.ofNullable(values.find(BIND)));
    requireLoopback(values, ADVERTISE, Stream.ofNullable(values.find(ADVERTISE)));
    requireLoopback(values, CONTROL, list(values, CONTROL).stream().map(ControlNodeAddress::host));
    requireLoopback(values, JOIN, list(values, JOIN).stream().map(JoinAddress::host));
  }

  private static void requireLoopback(Settings values, ConfigKey<?> key, Stream<String> hosts) {
    String open = hosts.filter(each -> !AdminOptions.isLoopback(each)).findFirst().orElse(null);
    // else the problem belongs to the key that supplied the default
    if (open != null && values.gives(key)) {
      values.problem(
          key,
          '"' + YamlScalars.shorten(open) + "\", reachable from other machines, and insecure: true",
          "127.0.0.1, or tls in place of insecure");
    }
  }

  private static void checkPorts(Settings ports) {
    Map<Integer, ConfigKey<Integer>> seen = new HashMap<>();
    OPEN_PORTS.forEach(key -> requireUnique(ports, key, seen));
    if (ports.gives(BUS_PORT)) {
      requireUnique(ports, BUS_PORT, seen);
    }
  }

  /** Rejects the default port of the event bus between nodes if another port has its number. */
  static void checkBusPort(Settings cluster) {
    Settings ports = cluster.find(PORTS);
    if (ports != null && !ports.gives(BUS_PORT)) {
      Map<Integer, ConfigKey<Integer>> seen = new HashMap<>();
      OPEN_PORTS.forEach(key -> seen.put(Objects.requireNonNullElse(ports.find(key), 0), key));
      requireUnique(ports, BUS_PORT, seen);
    }
  }

  private static void requireUnique(
      Settings ports, ConfigKey<Integer> key, Map<Integer, ConfigKey<Integer>> seen) {
    Integer port = ports.find(key);
    ConfigKey<Integer> first = port == null || port == 0 ? null : seen.putIfAbsent(port, key);
    if (first != null) {
      String given = ports.gives(key) ? " twice" : ", the default, twice";
      ports.problem(key, port + given, "unique; " + first + " has it already");
    }
  }

  private static void checkDetection(Settings detection) {
    Duration interval = detection.find(INTERVAL_MS);
    Duration timeout = detection.find(TIMEOUT_MS);
    if (interval != null && timeout != null && timeout.compareTo(interval.multipliedBy(2)) < 0) {
      detection.problem(
          TIMEOUT_MS,
          String.valueOf(timeout.toMillis()),
          "at least twice interval_ms, " + interval.multipliedBy(2).toMillis());
    }
  }

  private ClusterOptions() {}
}
