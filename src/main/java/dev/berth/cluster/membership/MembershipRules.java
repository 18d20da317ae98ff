package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.protocol.wire.WireCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The rules of admission and of silence.
 *
 * @param cluster name of the cluster
 * @param node name of the controller's node
 * @param process process id of that node
 * @param control names of the control nodes
 * @param intervalNanos interval between heartbeats, and between sweeps
 * @param timeoutNanos silence after which a node is suspected
 */
public record MembershipRules(
    String cluster,
    String node,
    String process,
    Set<String> control,
    long intervalNanos,
    long timeoutNanos) {
  /** Node names that a configuration accepts; another program's node may send any name. */
  private static final Pattern NAME = Pattern.compile("[a-z0-9-]{1,63}");

  /**
   * Maximum length of a node's information, in characters. All nodes receive the whole list; for 1
   * 000 nodes it takes a quarter of a message.
   */
  private static final int MAX_NODE_CHARS = 4_096;

  /**
   * Returns the reason why a node is refused; null when it is admitted.
   *
   * @param stranger reason why the certificate does not match the node; null when it matches
   */
  @Nullable String refuses(HandshakeHello hello, @Nullable String stranger) {
    String name = hello.node().name();
    List<String> wrong = new ArrayList<>();
    if (hello.version() != Handshake.VERSION) {
      wrong.add("version: %d (expected: %d)".formatted(hello.version(), Handshake.VERSION));
    }
    if (hello.messages() != WireCodec.VERSION) {
      wrong.add(
          "version of messages: %d (expected: %d)".formatted(hello.messages(), WireCodec.VERSION));
    }
    if (!NAME.matcher(name).matches()) {
      wrong.add("name: %.80s (expected: %s)".formatted(name, NAME));
    }
    int length = hello.node().toString().length();
    if (length > MAX_NODE_CHARS) {
      wrong.add("node: %d characters (expected: at most %d)".formatted(length, MAX_NODE_CHARS));
    }
    if (!hello.cluster().equals(cluster)) {
      wrong.add("cluster: %.80s (expected: %s)".formatted(hello.cluster(), cluster));
    }
    if (hello.node().control() != control.contains(name)) {
      wrong.add(
          "role: %s (expected: the other, since control names %s)"
              .formatted(hello.node().role(), control));
    }
    if (stranger != null) {
      wrong.add(stranger);
    }
    return wrong.isEmpty() ? null : String.join("; ", wrong);
  }
}
