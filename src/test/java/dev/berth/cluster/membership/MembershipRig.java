package dev.berth.cluster.membership;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.MemberAction.CommitRemoval;
import dev.berth.cluster.membership.MemberAction.RefuseHello;
import dev.berth.cluster.membership.MemberAction.RegisterNode;
import dev.berth.cluster.membership.MemberAction.SendWelcome;
import dev.berth.fakes.ManualClock;
import dev.berth.protocol.wire.WireCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A membership on n1, whose registrations are committed at once unless a test holds them. */
final class MembershipRig {
  static final long INTERVAL_MS = 500;
  static final ClusterEpoch OWN = new ClusterEpoch("id-1", 1, 5, 9, "d9");
  static final MembershipRules RULES =
      new MembershipRules(
          "prod",
          "n1",
          "p1",
          Set.of("n1"),
          MILLISECONDS.toNanos(INTERVAL_MS),
          MILLISECONDS.toNanos(3_000));

  final ManualClock clock = new ManualClock();
  final Membership membership =
      new Membership(RULES, () -> OWN, seen -> this.includes, clock.getAsLong());
  final List<MemberAction> all = new ArrayList<>();
  boolean includes = true; // the command that a node has seen
  boolean commits = true; // at once
  private long lastNumber = 100;
  private long lastLink;

  static NodeInfo node(String name, String process) {
    return new NodeInfo(
        name,
        process,
        name.equals("n1"),
        "z",
        Map.of("k", "v"),
        name + ".host",
        new NodeInfo.NodePorts(7423, 7424, 8000, List.of(8265)),
        null);
  }

  static HandshakeHello hello(String name, String process) {
    return new HandshakeHello(
        Handshake.VERSION,
        WireCodec.VERSION,
        "prod",
        node(name, process),
        0,
        false,
        null,
        List.of());
  }

  static HandshakeHello again(String name, String process, long registration) {
    return new HandshakeHello(
        Handshake.VERSION,
        WireCodec.VERSION,
        "prod",
        node(name, process),
        registration,
        false,
        null,
        List.of());
  }

  /** A link on which a node says HELLO, and what it runs. */
  long join(String name, String process) {
    return join(hello(name, process), null);
  }

  long join(HandshakeHello hello, @Nullable String stranger) {
    long link = call(hello, stranger);
    membership.onInventory(link);
    membership.onInventoryResult(link, true);
    return link;
  }

  /** A link on which a node says HELLO. */
  long call(HandshakeHello hello, @Nullable String stranger) {
    long link = ++lastLink;
    on(membership.onHello(link, hello, stranger));
    return link;
  }

  /** Keeps what is wanted, and commits. */
  void on(List<MemberAction> actions) {
    for (MemberAction action : actions) {
      all.add(action);
      if (commits) {
        commit(action);
      }
    }
  }

  void commit(MemberAction action) {
    if (action instanceof RegisterNode it) {
      NodeRegistration who = new NodeRegistration(it.name(), it.process(), ++lastNumber);
      on(membership.onRegisterResult(it.name(), List.of(who)));
    } else if (action instanceof CommitRemoval it) {
      on(membership.onRemovalResult(it.gone().who(), true));
    }
  }

  /** Sweeps pass, before each of which something comes on these links. */
  void pass(long millis, long... links) {
    for (long done = 0; done < millis; done += INTERVAL_MS) {
      for (long link : links) {
        on(membership.onMessage(link));
      }
      late(INTERVAL_MS);
    }
  }

  /** One sweep, that long after the one before. */
  void late(long millis) {
    clock.advance(Duration.ofMillis(millis));
    on(membership.sweep(clock.getAsLong()));
  }

  <T extends MemberAction> List<T> all(Class<T> type) {
    return all.stream().filter(type::isInstance).map(type::cast).toList();
  }

  <T extends MemberAction> T last(Class<T> type) {
    List<T> found = all(type);
    return found.get(found.size() - 1);
  }

  long number(String name) {
    return all(SendWelcome.class).stream()
        .filter(each -> each.member().node().name().equals(name))
        .reduce((first, last) -> last)
        .orElseThrow()
        .welcome()
        .registration();
  }

  String refusal() {
    return last(RefuseHello.class).reason();
  }

  Member.MemberState state(String name) {
    return membership.members().list().stream()
        .filter(each -> each.node().name().equals(name))
        .findFirst()
        .orElseThrow()
        .state();
  }
}
