package dev.berth.config;

import dev.berth.net.tls.PemFile;
import dev.berth.net.tls.TlsFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The checked settings of {@code berth.cluster}: this node's identity, its cluster, and the
 * addresses of the nodes.
 *
 * @param name of the cluster
 * @param node the node's name, unique among the living nodes of the cluster
 * @param zone of the node; null for none
 * @param labels of the node
 * @param role of the node
 * @param control the control nodes of the cluster; empty for a worker that does not list them
 * @param join addresses at which a worker finds the controller, by default those of {@code
 *     control}; not empty for a worker
 * @param bind name or address of the node's listeners
 * @param advertise name or address at which other nodes reach the node
 * @param ports TCP ports of the node's listeners
 * @param tls null for a cluster without TLS, whose addresses are all on this machine
 * @param interval time between two heartbeats
 * @param timeout silence after which a node is suspected; at least twice the interval
 * @param maxInflightBytesPerPeer maximum number of bytes written to one node and not yet accepted
 *     by its socket
 * @param busMessages whether the node sends Berth's messages over the event bus
 * @param eventBus whether consumers of the applications receive messages of all nodes
 * @param moveAfter time in milliseconds after which the upstreams of an unreachable node move; 0
 *     for never
 */
public record ClusterConfig(
    String name,
    String node,
    @Nullable String zone,
    Map<String, String> labels,
    ClusterRole role,
    List<ControlNodeAddress> control,
    List<JoinAddress> join,
    String bind,
    String advertise,
    ClusterPorts ports,
    @Nullable ClusterTls tls,
    Duration interval,
    Duration timeout,
    long maxInflightBytesPerPeer,
    boolean busMessages,
    boolean eventBus,
    long moveAfter) {

  /** Pattern of the names of clusters and nodes. */
  static final String NAME = "[a-z0-9-]{1,63}";

  static final String ADDRESS = "(\\[[0-9a-fA-F:.]+\\]|[^\\s:@/\\[\\]]+):([0-9]{1,5})";

  private static final Pattern CONTROL_NODE = Pattern.compile("(" + NAME + ")@" + ADDRESS);
  private static final Pattern JOIN_ADDRESS = Pattern.compile("(dns:)?" + ADDRESS);

  /** Role of a node beside serving. */
  public enum ClusterRole {
    /** Member of the consensus group, which stores the desired state. */
    CONTROL,
    /** Node that executes the controller's commands only. */
    WORKER
  }

  /**
   * A member of the consensus group.
   *
   * @param port control port at which other nodes reach it; 0, in tests, for any free port
   */
  public record ControlNodeAddress(String name, String host, int port) {

    /** Parses {@code name@host:port}; null for another text. */
    static @Nullable ControlNodeAddress parse(String text) {
      Matcher parts = CONTROL_NODE.matcher(text);
      Integer port = parts.matches() ? portOf(parts.group(3)) : null;
      return port == null
          ? null
          : new ControlNodeAddress(parts.group(1), hostOf(parts.group(2)), port);
    }

    /** Returns the text as the file has it. */
    @Override
    public String toString() {
      return name + "@" + written(host, port);
    }
  }

  /**
   * A possible address of a control node.
   *
   * @param dns whether each address of the host is a candidate, resolved again on each attempt
   */
  public record JoinAddress(String host, int port, boolean dns) {

    /** Parses {@code host:port} or {@code dns:host:port}; null for another text. */
    static @Nullable JoinAddress parse(String text) {
      Matcher parts = JOIN_ADDRESS.matcher(text);
      Integer port = parts.matches() ? portOf(parts.group(3)) : null;
      return port == null
          ? null
          : new JoinAddress(hostOf(parts.group(2)), port, parts.group(1) != null);
    }

    /** Returns the text as the file has it. */
    @Override
    public String toString() {
      return (dns ? "dns:" : "") + written(host, port);
    }
  }

  /**
   * TCP ports, all different; 0 for any free port.
   *
   * @param control port of heartbeats and commands
   * @param data port of requests and their responses
   * @param consensus port of the control nodes' consensus
   * @param https port of the admin server and the jars, for other nodes
   * @param bus port of the event bus between nodes, if the node opens it
   */
  public record ClusterPorts(int control, int data, int consensus, int https, int bus) {
    public List<Integer> all() {
      return List.of(control, data, consensus, https, bus);
    }
  }

  /**
   * Existing PEM files of TLS.
   *
   * @param certFile certificate chain, the node's own certificate first
   * @param keyFile the node's private key, PKCS #8
   * @param caFile certificates that must have signed those of other nodes
   * @param reload whether changed files are read again
   */
  public record ClusterTls(Path certFile, Path keyFile, Path caFile, boolean reload) {
    /** Returns the files, named by their keys. */
    public TlsFiles files() {
      return new TlsFiles(
          file("cert_file", certFile), file("key_file", keyFile), file("ca_file", caFile));
    }

    private static PemFile file(String key, Path path) {
      return new PemFile("berth.cluster.tls", key, path);
    }
  }

  /** Returns whether the node opens the port of the event bus between nodes. */
  public boolean opensBus() {
    return busMessages || eventBus;
  }

  /** Copies the collections. */
  public ClusterConfig {
    labels = Map.copyOf(labels);
    control = List.copyOf(control);
    join = List.copyOf(join);
  }

  /** Returns the port; null for a number out of range. */
  private static @Nullable Integer portOf(String digits) {
    int port = Integer.parseInt(digits);
    return port <= 65_535 ? port : null;
  }

  /** Returns the host without the brackets of an IPv6 address. */
  private static String hostOf(String text) {
    return text.replaceAll("[\\[\\]]", "");
  }

  private static String written(String host, int port) {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
