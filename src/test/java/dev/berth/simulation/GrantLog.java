package dev.berth.simulation;

import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.UpstreamGrant;
import dev.berth.desired.NodeRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The log of the control nodes: the real registry. Some commits fail with an unknown outcome: such
 * a change may be committed later, until the next commit.
 */
final class GrantLog {
  private record LateChange(UnaryOperator<NodeRegistry> change, @Nullable GrantUpstreams grants) {}

  private final UpstreamOwnersSimulation sim;
  private final List<LateChange> late = new ArrayList<>();
  final List<GrantUpstreams> inFlight = new ArrayList<>(); // proposed, and not known as committed
  private final Map<String, Integer> granted = new HashMap<>(); // by replica id
  NodeRegistry registry = NodeRegistry.NONE;

  GrantLog(UpstreamOwnersSimulation sim) {
    this.sim = sim;
  }

  void commit(
      UnaryOperator<NodeRegistry> change,
      @Nullable GrantUpstreams grants,
      Consumer<@Nullable NodeRegistry> result) {
    int draw = sim.isCalm ? 0 : sim.random.nextInt(16);
    if (draw == 1) {
      LateChange open = new LateChange(change, grants);
      late.add(open);
      sim.after(sim.random.nextInt(4_000), () -> commitLate(open));
      result.accept(null);
    } else {
      onNextTerm();
      apply(change);
      result.accept(draw == 2 ? null : registry);
    }
  }

  /** Commits one of the open changes, or none: the others are of an outdated state. */
  void onNextTerm() {
    if (!late.isEmpty() && sim.random.nextBoolean()) {
      commitLate(late.get(sim.random.nextInt(late.size())));
    }
    late.clear();
  }

  private void commitLate(LateChange open) {
    if (late.contains(open) && sim.random.nextInt(3) > 0) {
      late.clear();
      sim.lateCommits++;
      apply(open.change);
    }
  }

  private void apply(UnaryOperator<NodeRegistry> change) {
    registry = change.apply(registry);
    granted.clear();
    registry.upstreamGrants().forEach(each -> granted.put(each.replicaId(), each.maximum()));
    sim.servers.values().forEach(sim::check);
  }

  /** Drops the proposals of an ended process, except for open ones. */
  void onControlEnded() {
    inFlight.removeIf(each -> late.stream().noneMatch(open -> open.grants == each));
  }

  int granted(String replicaId) {
    return granted.getOrDefault(replicaId, 0);
  }

  int sum(String upstream) {
    return registry.upstreamGrants().stream()
        .filter(each -> each.upstream().equals(upstream))
        .mapToInt(UpstreamGrant::maximum)
        .sum();
  }

  /** Returns the highest limit of an upstream in a proposal that may still be committed. */
  int limitInFlight(String upstream) {
    return inFlight.stream()
        .mapToInt(each -> each.limits().getOrDefault(upstream, 0))
        .max()
        .orElse(0);
  }
}
