package dev.berth.protocol.wire;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot.Route;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The form of a route: what may be missing is a flag, and its deployment is told before it. */
final class RouteForm {
  private static final int ROUTABLE = 1;
  private static final int RESERVABLE = 1 << 1;
  private static final int SPREAD = 1 << 2;
  private static final int HAS_HOST = 1 << 3;
  private static final int HAS_PORT = 1 << 4;
  private static final int HAS_ZONE = 1 << 5;
  private static final int ALL_FLAGS = (1 << 6) - 1;

  private RouteForm() {}

  static void route(Route route, DeploymentId of, WireWriter out) {
    ReplicaInfo replica = route.replica();
    if (!replica.deployment().equals(of)) { // it does not cross by itself
      throw new WireFormatException(
          "route.deployment: " + replica.deployment() + " (expected: " + of + ")");
    }
    String host = replica.host();
    String zone = replica.zone();
    out.string(replica.replicaId());
    out.string(replica.address().node());
    out.int32(replica.address().loop());
    out.int32(replica.address().ordinal());
    out.fixed64(replica.address().epoch());
    out.int32(replica.maxOngoing());
    out.int32(replica.wholeBodyBytes());
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

  static Route route(DeploymentId deployment, WireReader in) {
    String id = in.string("route.replicaId");
    ReplicaAddress address =
        new ReplicaAddress(
            in.string("route.node"),
            in.int32("route.loop"),
            in.int32("route.ordinal"),
            in.fixed64("route.epoch"));
    int maxOngoing = in.int32("route.maxOngoing");
    int wholeBodyBytes = in.int32("route.wholeBodyBytes");
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
            wholeBodyBytes,
            (flags & RESERVABLE) != 0,
            (flags & SPREAD) != 0,
            host,
            port,
            zone,
            metadata),
        (flags & ROUTABLE) != 0);
  }
}
