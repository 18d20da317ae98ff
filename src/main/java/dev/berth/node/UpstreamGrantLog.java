package dev.berth.node;

import dev.berth.cluster.membership.Member;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ProbeOwner;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.OwnerFree;
import dev.berth.controller.ControllerEvent.UpstreamsGranted;
import dev.berth.controller.UpstreamGrant;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.ServeControl;
import dev.berth.node.loops.LoopVerticle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The grants of upstreams in the log, and the dials of silent owners, for the controller on this
 * node. Confined to the control loop.
 */
final class UpstreamGrantLog {
  /** Interval of the attempts to commit a change. */
  private static final Duration REPEAT = Duration.ofSeconds(1);

  private final ClusterMembershipClient side;
  private final ServeControl serve;
  private final LoopVerticle control;
  private final Consumer<ControllerEvent> tell;
  private final BooleanSupplier stops; // whether the instance is stopping
  private boolean isGranting; // until a change is committed and reported

  UpstreamGrantLog(
      ClusterMembershipClient side,
      ServeControl serve,
      LoopVerticle control,
      Consumer<ControllerEvent> tell,
      BooleanSupplier stops) {
    this.side = side;
    this.serve = serve;
    this.control = control;
    this.tell = tell;
    this.stops = stops;
  }

  /** Reports all grants to a new controller, unless a change may still be committed. */
  void tellGranted(Consumer<ControllerEvent> controller) {
    if (!isGranting) { // else its commit reports them
      controller.accept(new UpstreamsGranted(serve.nodes().upstreamGrants()));
    }
  }

  /**
   * Commits changes of grants, and reports all grants. Repeats a failed commit: the attempt before
   * may still be committed, and only a later commit excludes that.
   */
  void grant(GrantUpstreams change) {
    isGranting = true;
    List<UpstreamGrant> placed = new ArrayList<>();
    for (UpstreamGrant each : change.grants()) {
      Member owner = side.members.find(each.node());
      if (owner != null) {
        placed.add(each.at(owner.node().host(), owner.node().ports().data()));
      } else if (each.port() != 0) {
        placed.add(each);
      } // else the node has left meanwhile, and the controller knows or will know
    }
    List<UpstreamGrant> before = serve.nodes().upstreamGrants();
    serve
        .nodes(registry -> registry.withGrants(placed, change.ended(), change.limits()))
        .onComplete(
            (registry, failed) -> {
              if (registry != null && !registry.upstreamGrants().equals(before)) {
                reportGrants(registry);
              } else if (!stops.getAsBoolean() || registry != null) {
                control.home().setTimer(REPEAT.toMillis(), due -> grantAgain(change, failed));
              }
            });
  }

  private void grantAgain(GrantUpstreams change, @Nullable Throwable failed) {
    if (failed == null) {
      reportGrants(serve.nodes());
    } else {
      grant(change);
    }
  }

  private void reportGrants(NodeRegistry registry) {
    isGranting = false;
    tell.accept(new UpstreamsGranted(registry.upstreamGrants()));
  }

  /** Dials the port of a silent owner, unless another process has registered it. */
  void probe(ProbeOwner of) {
    UpstreamGrant grant = of.grant();
    boolean isReplaced =
        side.members.list().stream()
            .map(Member::node)
            .filter(each -> !each.busName().equals(grant.node()))
            .filter(each -> each.ports().data() == grant.port())
            .anyMatch(each -> each.host().equals(grant.host()));
    if (isReplaced) {
      tell.accept(new OwnerFree(grant.node()));
    } else {
      side.controlLoops
          .isRefused(grant.host(), grant.port())
          .onSuccess(
              refused -> {
                if (refused) {
                  tell.accept(new OwnerFree(grant.node()));
                }
              });
    }
  }
}
