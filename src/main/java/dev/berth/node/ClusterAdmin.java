package dev.berth.node;

import static dev.berth.view.CommandRejectedException.notFound;
import static dev.berth.view.CommandRejectedException.precondition;

import dev.berth.cluster.control.ControlServer;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MembershipStatus;
import dev.berth.cluster.membership.MembershipStatus.NodeStatus;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.NodeCordoned;
import dev.berth.controller.ControllerEvent.NodeLeaving;
import dev.berth.controller.ControllerEvent.UpstreamTaken;
import dev.berth.controller.UpstreamGrant;
import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.ServeControl;
import dev.berth.view.ClusterCommands;
import dev.berth.view.ClusterDetails;
import dev.berth.view.ClusterDetails.UpstreamOwner;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Commands of operators to the cluster whose controller is on this node. A node's cordon is stored
 * in the node registry: it outlasts the controller, and the process of the node.
 *
 * @param replicas replica counts of all deployments, by bus name
 */
record ClusterAdmin(
    ClusterMembershipClient side,
    ServeControl serve,
    ControlServer server,
    Supplier<Map<String, Integer>> replicas,
    Consumer<ControllerEvent> controller)
    implements ClusterCommands {

  @Override
  public Future<ClusterDetails> details() {
    return Future.<MembershipStatus>future(asked -> server.status(asked::complete))
        .map(this::details);
  }

  private ClusterDetails details(MembershipStatus status) {
    DesiredState now = serve.logged();
    NodeRegistry registry = now.nodes();
    Map<String, Integer> hosted = replicas.get();
    return new ClusterDetails(
        side.config.name(),
        registry.cluster(),
        registry.generation(),
        now.term(),
        now.command().getKey(),
        side.config.node(),
        side.config.node(),
        status.cutOff(),
        status.standsBy(),
        server.refusedBy(),
        status.strangers(),
        status.awaited(),
        registry.cordoned().stream().sorted().toList(),
        status.nodes().stream().map(each -> shown(each, hosted)).toList(),
        registry.upstreamGrants().stream().map(each -> owner(each, registry)).toList());
  }

  private static UpstreamOwner owner(UpstreamGrant grant, NodeRegistry registry) {
    String node = NodeInfo.nameOf(grant.node());
    NodeRegistry.RegisteredProcess process = registry.find(node);
    boolean silent = process == null || !grant.node().equals(node + "~" + process.process());
    return new UpstreamOwner(
        grant.upstream(), node, grant.replicaId(), grant.maximum(), grant.leaseMillis(), silent);
  }

  @Override
  public Future<Void> take(String upstream) {
    NodeRegistry registry = serve.nodes();
    List<UpstreamOwner> owners =
        registry.upstreamGrants().stream()
            .filter(each -> (each.upstream() + " ").startsWith(upstream + " "))
            .map(each -> owner(each, registry))
            .toList();
    if (owners.isEmpty()) {
      return Future.failedFuture(
          notFound("upstream: %s (expected: one of berth upstream list)", upstream));
    }
    if (owners.stream().noneMatch(UpstreamOwner::silent)) {
      String nodes = owners.stream().map(UpstreamOwner::node).collect(Collectors.joining(", "));
      return Future.failedFuture(
          precondition("upstream: %s, owned by %s (expected: a silent owner)", upstream, nodes));
    }
    owners.stream()
        .filter(UpstreamOwner::silent)
        .map(UpstreamOwner::upstream)
        .distinct()
        .forEach(each -> controller.accept(new UpstreamTaken(each)));
    return Future.succeededFuture();
  }

  private ClusterDetails.Node shown(NodeStatus status, Map<String, Integer> hosted) {
    return side.shown(
        status.member(),
        hosted.getOrDefault(status.member().node().busName(), 0),
        status.silentMillis(),
        status.pausedMillis(),
        status.unreachableFrom());
  }

  /** Cordons a node. Replacements for its replicas start on other nodes before they stop. */
  @Override
  public Future<Void> drain(String node) {
    NodeRegistry registry = serve.nodes();
    if (registry.find(node) == null) {
      return unknown(node);
    }
    if (registry.cordoned().size() >= NodeRegistry.MAX_CORDONED) {
      int cordoned = registry.cordoned().size();
      return Future.failedFuture(precondition("%s nodes are cordoned (expected: fewer)", cordoned));
    }
    return cordon(node, true);
  }

  @Override
  public Future<Void> uncordon(String node) {
    NodeRegistry registry = serve.nodes();
    if (registry.find(node) == null && !registry.cordoned().contains(node)) {
      return unknown(node);
    }
    boolean leaves =
        side.members.list().stream()
            .anyMatch(
                each ->
                    each.node().name().equals(node) && each.state() == Member.MemberState.LEAVING);
    return leaves
        ? Future.failedFuture(
            precondition("node: %s is leaving (expected: a node that stays)", node))
        : cordon(node, false);
  }

  private Future<Void> cordon(String node, boolean on) {
    return serve
        .nodes(registry -> registry.cordon(node, on))
        .map(
            kept -> {
              server.cordon(node, on);
              NodeRegistry.RegisteredProcess process = kept.find(node);
              if (process != null) {
                tell(node + "~" + process.process(), on, controller);
              }
              return null;
            });
  }

  /** Reports to the controller whether a node, by bus name, is cordoned. */
  static void tell(String busName, boolean on, Consumer<ControllerEvent> controller) {
    controller.accept(new NodeCordoned(busName, on));
    if (on) {
      controller.accept(new NodeLeaving(busName));
    }
  }

  private static Future<Void> unknown(String node) {
    return Future.failedFuture(notFound("node: %s (expected: a node of the cluster)", node));
  }
}
