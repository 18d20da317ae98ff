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
 * {@code berth.cluster}, checked: which node this is, of which cluster, and how it and the others
 * reach each other.
 *
 * @param name of the cluster
 * @param node its name in the cluster; no other living one has it
 * @param zone of the node; null for none
 * @param labels of the node
 * @param role of the node
 * @param control the control nodes of the cluster; empty where a worker does not say them
 * @param join where a worker asks for the controller, those of {@code control} when nothing else is
 *     said; not empty for a worker
 * @param bind name or address that it listens on
 * @param advertise name or address that other nodes reach it by
 * @param ports that it listens on
 * @param tls null where nothing is protected and all addresses are of this machine
 * @param interval between two signs of life
 * @param timeout of silence, after which a node is suspected; at least twice the interval
 * @param maxInflightBytesPerPeer bytes written to one node and not yet taken by its socket
 */
public record ClusterConfig(
    String name,
    String node,
    @Nullable String zone,
    Map<String, String> labels,
    Role role,
    List<ControlNode> control,
    List<JoinAddress> join,
    String bind,
    String advertise,
    Ports ports,
    @Nullable Tls tls,
    Duration interval,
    Duration timeout,
    long maxInflightBytesPerPeer) {

  /** Of a cluster, and of a node. */
  static final String NAME = "[a-z0-9-]{1,63}";

  static final String ADDRESS = "(\\[[0-9a-fA-F:.]+\\]|[^\\s:@/\\[\\]]+):([0-9]{1,5})";

  private static final Pattern CONTROL_NODE = Pattern.compile("(" + NAME + ")@" + ADDRESS);
  private static final Pattern JOIN_ADDRESS = Pattern.compile("(dns:)?" + ADDRESS);

  /** What a node does beside serving. */
  public enum Role {
    /** It is one of those that agree on what is deployed. */
    CONTROL,
    /** It does what they say. */
    WORKER
  }

  /**
   * A node that agrees with the others on what is deployed.
   *
   * @param port where the others reach it; 0, in tests, for any free one
   */
  public record ControlNode(String name, String host, int port) {

    /** Null for a text that is none. */
    static @Nullable ControlNode parse(String text) {
      Matcher parts = CONTROL_NODE.matcher(text);
      Integer port = parts.matches() ? portOf(parts.group(3)) : null;
      return port == null ? null : new ControlNode(parts.group(1), hostOf(parts.group(2)), port);
    }

    /** As in the file. */
    @Override
    public String toString() {
      return name + "@" + written(host, port);
    }
  }

  /**
   * Where a control node may be.
   *
   * @param dns whether each address of the host is one, asked for anew at each try
   */
  public record JoinAddress(String host, int port, boolean dns) {

    /** Null for a text that is none. */
    static @Nullable JoinAddress parse(String text) {
      Matcher parts = JOIN_ADDRESS.matcher(text);
      Integer port = parts.matches() ? portOf(parts.group(3)) : null;
      return port == null
          ? null
          : new JoinAddress(hostOf(parts.group(2)), port, parts.group(1) != null);
    }

    /** As in the file. */
    @Override
    public String toString() {
      return (dns ? "dns:" : "") + written(host, port);
    }
  }

  /**
   * TCP ports, all different; 0 for any free one.
   *
   * @param control of heartbeats and commands
   * @param data of requests and their answers
   * @param consensus of the control nodes among themselves
   * @param https of the admin server and the jars, for other nodes
   */
  public record Ports(int control, int data, int consensus, int https) {}

  /**
   * Files in PEM, which exist.
   *
   * @param certFile the node's certificate first
   * @param keyFile its private key, PKCS #8
   * @param caFile certificates that those of other nodes must be signed by
   * @param reload whether they are read again when they change
   */
  public record Tls(Path certFile, Path keyFile, Path caFile, boolean reload) {
    /** Returns the files, named by their keys. */
    public TlsFiles files() {
      return new TlsFiles(
          file("cert_file", certFile), file("key_file", keyFile), file("ca_file", caFile));
    }

    private static PemFile file(String key, Path path) {
      return new PemFile("berth.cluster.tls", key, path);
    }
  }

  /** The collections are copied. */
  public ClusterConfig {
    labels = Map.copyOf(labels);
    control = List.copyOf(control);
    join = List.copyOf(join);
  }

  /** Null for a number that is none. */
  private static @Nullable Integer portOf(String digits) {
    int port = Integer.parseInt(digits);
    return port <= 65_535 ? port : null;
  }

  /** Without the brackets of an IPv6 address. */
  private static String hostOf(String text) {
    return text.replaceAll("[\\[\\]]", "");
  }

  private static String written(String host, int port) {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
