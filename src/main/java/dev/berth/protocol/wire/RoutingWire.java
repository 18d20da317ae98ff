package dev.berth.protocol.wire;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.CheckRouting;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.RepullRouting;
import dev.berth.protocol.BusMessage.RoutingUpdate;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingSnapshot.Route;
import dev.berth.protocol.RoutingSnapshot.Version;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The fields of the messages that keep routers up to date, for {@link WireCodec}. */
final class RoutingWire {
  /** Id, node, loop, ordinal, epoch, slots, flags, metadata. */
  private static final int ROUTE_LEAST_BYTES = 15;

  /** Two names of a letter and its length, term, counter. */
  private static final int HELD_LEAST_BYTES = 6;

  private static final int ROUTABLE = 1;
  private static final int RESERVABLE = 1 << 1;
  private static final int SPREAD = 1 << 2;
  private static final int HAS_HOST = 1 << 3;
  private static final int HAS_PORT = 1 << 4;
  private static final int HAS_ZONE = 1 << 5;
  private static final int ALL_FLAGS = (1 << 6) - 1;

  private RoutingWire() {}

  static void write(RoutingUpdate message, WireWriter out) {
    RoutingDelta delta = message.delta();
    deployment(delta.deployment(), out);
    version(delta.from(), out);
    version(delta.to(), out);
    out.bool(delta.available());
    out.varint(delta.changed().size());
    delta.changed().forEach(route -> route(route, delta.deployment(), out));
    out.varint(delta.removed().size());
    delta.removed().forEach(out::string);
  }

  static RoutingUpdate update(WireReader in) {
    DeploymentId deployment = deployment(in);
    Version from = version(in);
    Version to = version(in);
    boolean available = in.bool("available");
    int changes = in.count("changed", ROUTE_LEAST_BYTES);
    List<Route> changed = new ArrayList<>(changes);
    for (int i = 0; i < changes; i++) {
      changed.add(route(deployment, in));
    }
    int removals = in.count("removed", 1);
    List<String> removed = new ArrayList<>(removals);
    for (int i = 0; i < removals; i++) {
      removed.add(in.string("removed"));
    }
    return new RoutingUpdate(new RoutingDelta(deployment, from, to, available, changed, removed));
  }

  static void write(PullRouting message, WireWriter out) {
    out.string(message.node());
    out.fixed64(message.incarnation());
    out.bool(message.all());
    out.varint(message.held().size());
    for (PullRouting.Held held : message.held()) {
      deployment(held.deployment(), out);
      version(held.version(), out);
    }
  }

  static PullRouting pull(WireReader in) {
    String node = in.string("node");
    long incarnation = in.fixed64("incarnation");
    boolean all = in.bool("all");
    int count = in.count("held", HELD_LEAST_BYTES);
    List<PullRouting.Held> held = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      held.add(new PullRouting.Held(deployment(in), version(in)));
    }
    return new PullRouting(node, incarnation, all, held);
  }

  static void write(CheckRouting message, WireWriter out) {
    out.string(message.node());
    out.fixed64(message.incarnation());
    out.fixed64(message.digest());
  }

  static CheckRouting check(WireReader in) {
    return new CheckRouting(in.string("node"), in.fixed64("incarnation"), in.fixed64("digest"));
  }

  static void write(RepullRouting message, WireWriter out) {
    out.signed(message.term());
  }

  static RepullRouting repull(WireReader in) {
    return new RepullRouting(in.signed("term"));
  }

  // --- what they share ---

  private static void deployment(DeploymentId deployment, WireWriter out) {
    out.string(deployment.application());
    out.string(deployment.name());
  }

  private static DeploymentId deployment(WireReader in) {
    return new DeploymentId(in.string("application"), in.string("deployment"));
  }

  private static void version(Version version, WireWriter out) {
    out.signed(version.term());
    out.signed(version.counter());
  }

  private static Version version(WireReader in) {
    return new Version(in.signed("version.term"), in.signed("version.counter"));
  }

  private static void route(Route route, DeploymentId of, WireWriter out) {
    ReplicaInfo replica = route.replica();
    if (!replica.deployment().equals(of)) { // it does not cross by itself
      throw new WireFormatException(
          "route.deployment: " + replica.deployment() + " (expected: " + of + ")");
    }
    String host = replica.host();
    String zone = replica.zone();
    out.string(replica.replicaId());
    out.replica(replica.address());
    out.int32(replica.maxOngoing());
    out.byteValue(
        (route.routable() ? ROUTABLE : 0)
            | (replica.reservable() ? RESERVABLE : 0)
            | (replica.spread() ? SPREAD : 0)
            | (host != null ? HAS_HOST : 0)
            | (replica.port().isPresent() ? HAS_PORT : 0)
            | (zone != null ? HAS_ZONE : 0));
    if (host != null) {
      out.string(host);
    }
    if (replica.port().isPresent()) {
      out.int32(replica.port().getAsInt());
    }
    if (zone != null) {
      out.string(zone);
    }
    out.varint(replica.metadata().size());
    // Sorted: equal routes have equal bytes, whatever the order of the map.
    replica.metadata().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            entry -> {
              out.string(entry.getKey());
              out.string(entry.getValue());
            });
  }

  private static Route route(DeploymentId deployment, WireReader in) {
    String id = in.string("route.replicaId");
    ReplicaAddress address = in.replica();
    int maxOngoing = in.int32("route.maxOngoing");
    int flags = in.byteValue("route.flags");
    if ((flags & ~ALL_FLAGS) != 0) {
      throw new WireFormatException(
          "route.flags: " + flags + " (expected: 0 to " + ALL_FLAGS + ")");
    }
    @Nullable String host = (flags & HAS_HOST) != 0 ? in.string("route.host") : null;
    OptionalInt port =
        (flags & HAS_PORT) != 0 ? OptionalInt.of(in.int32("route.port")) : OptionalInt.empty();
    @Nullable String zone = (flags & HAS_ZONE) != 0 ? in.string("route.zone") : null;
    int pairs = in.count("route.metadata", 2);
    Map<String, String> metadata = new HashMap<>();
    for (int i = 0; i < pairs; i++) {
      metadata.put(in.string("route.metadata"), in.string("route.metadata"));
    }
    return new Route(
        new ReplicaInfo(
            id,
            deployment,
            address,
            maxOngoing,
            (flags & RESERVABLE) != 0,
            (flags & SPREAD) != 0,
            host,
            port,
            zone,
            metadata),
        (flags & ROUTABLE) != 0);
  }
}
