package dev.berth.config;

import dev.berth.config.ClusterConfig.ControlNode;
import dev.berth.config.ClusterConfig.JoinAddress;
import dev.berth.config.ClusterConfig.Role;
import dev.berth.config.keys.Key;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Scalars;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
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
      Types.string("empty, or as a name", "^(" + ClusterConfig.NAME + ")?$");
  private static final Type<ControlNode> CONTROL_TYPE =
      Types.parsed(
          "name@host:port",
          ControlNode::parse,
          Schema.text("^" + ClusterConfig.NAME + "@" + ClusterConfig.ADDRESS + "$"));
  private static final Type<JoinAddress> JOIN_TYPE =
      Types.parsed(
          "host:port, or dns:host:port",
          JoinAddress::parse,
          Schema.text("^(dns:)?" + ClusterConfig.ADDRESS + "$"));

  // --- ports ---

  private static final Keys PORT_KEYS = new Keys();

  public static final Key<Integer> CONTROL_PORT =
      PORT_KEYS.key("control", Types.PORT, 7420).means("Heartbeats and commands.");
  public static final Key<Integer> DATA_PORT =
      PORT_KEYS.key("data", Types.PORT, 7422).means("Requests and their answers.");
  public static final Key<Integer> CONSENSUS_PORT =
      PORT_KEYS
          .key("consensus", Types.PORT, 7423)
          .means(
              "Control nodes among themselves. While there is one, it is on the loopback alone.");
  public static final Key<Integer> HTTPS_PORT =
      PORT_KEYS
          .key("https", Types.PORT, 7424)
          .means("The admin server and the jars of this node, for other nodes.");

  private static final List<Key<Integer>> ALL_PORTS =
      List.of(CONTROL_PORT, DATA_PORT, CONSENSUS_PORT, HTTPS_PORT);

  // --- tls ---

  private static final Keys TLS_KEYS = new Keys();

  public static final Key<Path> CERT_FILE =
      TLS_KEYS
          .required("cert_file", Types.FILE)
          .means(
              "Certificate in PEM. Its CN or a DNS name of it is the node's name, or worker.NAME,"
                  + " NAME being the cluster's, for a worker of any name.");
  public static final Key<Path> KEY_FILE =
      TLS_KEYS.required("key_file", Types.FILE).means("Its private key in PEM, PKCS #8.");
  public static final Key<Path> CA_FILE =
      TLS_KEYS
          .required("ca_file", Types.FILE)
          .means(
              "Certificates in PEM that every node's must be signed by: of a CA that signs for this"
                  + " cluster and nobody else.");
  public static final Key<Boolean> RELOAD =
      TLS_KEYS
          .key("reload", Types.BOOL, true)
          .means("Whether the files are read again when they change.");

  // --- detection ---

  private static final Keys DETECTION_KEYS = new Keys();

  public static final Key<Duration> INTERVAL_MS =
      DETECTION_KEYS
          .key("interval_ms", Types.millis(20, 60_000), Duration.ofMillis(500))
          .means("Time between two signs of life of a node.");
  public static final Key<Duration> TIMEOUT_MS =
      DETECTION_KEYS
          .key("timeout_ms", Types.millis(40, 600_000), Duration.ofMillis(3_000))
          .means("Silence after which a node is suspected; at least twice interval_ms.");

  // --- berth.cluster ---

  private static final Keys KEYS = new Keys();

  public static final Key<String> NAME =
      KEYS.required("name", NAME_TYPE).means("The cluster. A node of another is refused.");
  public static final Key<String> NODE =
      KEYS.key("node", NAME_TYPE)
          .fallback(settings -> nameOfHost(), "the host's name, in lower case, with - for dots")
          .means("This node. No two that live have one name.");
  public static final Key<String> ZONE =
      KEYS.key("zone", ZONE_TYPE, "")
          .means("Where it is: nodes of one zone may fail together. Empty is nowhere.");
  public static final Key<Map<String, @Nullable Object>> LABELS =
      KEYS.key("labels", Types.TEXT_MAP, Map.of()).means("More that is said of it, for status.");
  public static final Key<String> ADOPT =
      KEYS.optional("adopt", Types.TEXT)
          .means(
              "For one start of a control node that lost its state, or has an older one: the state that"
                  + " its nodes follow instead, as berth run --adopt names it after it said what stops."
                  + " Left in a file it adopts nothing a second time.");
  public static final Key<Role> ROLE =
      KEYS.required("role", Types.words(Role.class))
          .means(
              "Both serve. A control node keeps what is deployed and decides what runs where; it is"
                  + " one of control.");
  public static final Key<List<ControlNode>> CONTROL =
      KEYS.key("control", Types.list(CONTROL_TYPE), List.of())
          .means("The control node by its name, and where others reach its control port.");
  public static final Key<List<JoinAddress>> JOIN =
      KEYS.key("join", Types.list(JOIN_TYPE))
          .fallback(ClusterOptions::joined, "the addresses in control")
          .means(
              "Where a worker finds the control node. With dns: before it each address of the name is"
                  + " one, looked up at each try.");
  public static final Key<String> BIND =
      KEYS.required("bind", Types.TEXT)
          .means("Name or address that the ports are opened on. 0.0.0.0 needs advertise.");
  public static final Key<String> ADVERTISE =
      KEYS.key("advertise", Types.TEXT)
          .fallback(settings -> settings.around(BIND), "bind")
          .means("Name or address that other nodes reach it by.");
  public static final Key<Settings> PORTS =
      KEYS.mapping("ports", PORT_KEYS.section().check(ClusterOptions::checkPorts))
          .means("All different; 0 takes any free one.");
  public static final Key<Settings> TLS =
      KEYS.optional("tls", TLS_KEYS.section())
          .means("How nodes know each other, on every port. Required unless insecure.");
  public static final Key<Boolean> INSECURE =
      KEYS.key("insecure", Types.BOOL, false)
          .means("Goes without tls, where every address is of this machine: for trials.");
  public static final Key<Settings> DETECTION =
      KEYS.mapping("detection", DETECTION_KEYS.section().check(ClusterOptions::checkDetection))
          .means("How soon a node that is silent is noticed. The same on all nodes.");
  public static final Key<Long> MAX_INFLIGHT_BYTES_PER_PEER =
      KEYS.key("max_inflight_bytes_per_peer", Types.bytes(256 << 10, 1 << 30), 8L << 20)
          .means(
              "Bytes on their way to one node that it has not taken. What would go past it is tried"
                  + " elsewhere. A larger message passes when next to nothing else is on its way.");

  public static final Key<Duration> UNAVAILABLE_TIMEOUT_S =
      KEYS.key("unavailable_timeout_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(5))
          .means(
              "How long requests wait for a deployment without a replica that can be reached, while"
                  + " there is no controller to replace it; then they get 503"
                  + " deployment_unavailable. Those for a deployment scaled to zero wait on.");

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
        new ClusterConfig.Ports(
            cluster.get(CONTROL_PORT),
            cluster.get(DATA_PORT),
            cluster.get(CONSENSUS_PORT),
            cluster.get(HTTPS_PORT)),
        tls == null
            ? null
            : new ClusterConfig.Tls(
                tls.get(CERT_FILE), tls.get(KEY_FILE), tls.get(CA_FILE), tls.get(RELOAD)),
        cluster.get(INTERVAL_MS),
        cluster.get(TIMEOUT_MS),
        cluster.get(MAX_INFLIGHT_BYTES_PER_PEER));
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

  private static List<JoinAddress> joined(Settings cluster) {
    return list(cluster, CONTROL).stream()
        .map(each -> new JoinAddress(each.host(), each.port(), false))
        .toList();
  }

  /** Returns the list; empty when it is invalid. */
  private static <T> List<T> list(Settings values, Key<List<T>> key) {
    return Objects.requireNonNullElse(values.around(key), List.of());
  }

  // --- rules ---

  private static void check(Settings values) {
    checkControl(values);
    checkAdvertised(values);
    if (values.gives(ADOPT) && values.find(ROLE) == Role.WORKER) {
      values.problem(ADOPT, "given, on a worker", "on the control node alone");
    }
    Boolean insecure = values.find(INSECURE);
    if (Boolean.TRUE.equals(insecure)) {
      checkInsecure(values);
    } else if (insecure != null && !values.gives(TLS)) {
      String waiver = "; or insecure: true, where every address is of this machine";
      values.problem(TLS, "missing", "cert_file, key_file and ca_file" + waiver);
    }
  }

  private static void checkControl(Settings values) {
    List<ControlNode> control = list(values, CONTROL);
    Role role = values.find(ROLE);
    String node = values.find(NODE);
    boolean named = control.stream().anyMatch(each -> each.name().equals(node));
    if (control.size() > 1) {
      values.problem(
          CONTROL,
          control.size() + " control nodes, and this version has no agreement among several",
          "one");
    } else if (role == Role.CONTROL && node != null && !named && knowsAll(values, CONTROL)) {
      values.problem(
          CONTROL, "without " + node, node + "@host:port, since role of " + node + " is control");
    } else if (role == Role.WORKER && named) {
      values.problem(CONTROL, "with " + node + ", whose role is worker", "another");
    } else if (role == Role.WORKER
        && list(values, JOIN).isEmpty()
        && knowsAll(values, CONTROL)
        && knowsAll(values, JOIN)) {
      values.problem(JOIN, "missing", "where the control node is, as " + JOIN_TYPE.expected());
    }
  }

  /** Returns whether all items of a list are valid; invalid items are reported and omitted. */
  private static <T> boolean knowsAll(Settings values, Key<List<T>> key) {
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
      values.problem(ADVERTISE, '"' + advertise + "\", which nobody can reach", "an address");
    } else {
      values.problem(ADVERTISE, "missing", "an address, since bind is every one of the machine");
    }
  }

  private static boolean isEverywhere(String host) {
    return host.matches("0+(\\.0+){3}|[0:]*:[0:]*");
  }

  private static void checkInsecure(Settings values) {
    if (values.gives(TLS)) {
      values.problem(INSECURE, "true, beside tls", "one of the two");
    }
    requireLoopback(values, BIND, Stream.ofNullable(values.find(BIND)));
    requireLoopback(values, ADVERTISE, Stream.ofNullable(values.find(ADVERTISE)));
    requireLoopback(values, CONTROL, list(values, CONTROL).stream().map(ControlNode::host));
    requireLoopback(values, JOIN, list(values, JOIN).stream().map(JoinAddress::host));
  }

  private static void requireLoopback(Settings values, Key<?> key, Stream<String> hosts) {
    String open = hosts.filter(each -> !AdminOptions.isLoopback(each)).findFirst().orElse(null);
    // else the problem belongs to the key that supplied the default
    if (open != null && values.gives(key)) {
      values.problem(
          key,
          '"' + Scalars.shorten(open) + "\", which other machines may reach, and insecure: true",
          "127.0.0.1, or tls in place of insecure");
    }
  }

  private static void checkPorts(Settings ports) {
    Map<Integer, Key<Integer>> seen = new HashMap<>();
    for (Key<Integer> key : ALL_PORTS) {
      Integer port = ports.find(key);
      Key<Integer> first = port == null || port == 0 ? null : seen.putIfAbsent(port, key);
      if (first != null) {
        String given = ports.gives(key) ? " twice" : ", the default, twice";
        ports.problem(key, port + given, "unique; " + first + " has it already");
      }
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
