package dev.berth.cluster.membership;

import dev.berth.cluster.membership.Handshake.Hello;
import dev.berth.protocol.wire.WireCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Who may be a node, and when it is one no more.
 *
 * @param cluster its name
 * @param node that the controller is on
 * @param process of that node
 * @param control names of the control nodes
 * @param intervalNanos between two signs of life, and between two sweeps
 * @param timeoutNanos of silence, after which a node is suspected
 */
public record MembershipRules(
    String cluster,
    String node,
    String process,
    Set<String> control,
    long intervalNanos,
    long timeoutNanos) {
  /** As a configuration has it; a node of another program may not. */
  private static final Pattern NAME = Pattern.compile("[a-z0-9-]{1,63}");

  /** Of what a node says of itself: all are told, and of 1 000 it is a fourth of a message. */
  private static final int MOST_CHARS = 4_096;

  /**
   * Why a node may not be one of the cluster; null when it may.
   *
   * @param stranger why it is not who it says, by its certificate; null when it is
   */
  @Nullable String refuses(Hello hello, @Nullable String stranger) {
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
    if (length > MOST_CHARS) {
      wrong.add("node: %d characters (expected: at most %d)".formatted(length, MOST_CHARS));
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
