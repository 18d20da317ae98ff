package dev.berth.simulation;

import dev.berth.node.DataPlane;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;

/** When all is over: nothing waits, runs or is remembered on an instance, and no room is taken. */
record AtRest(World world, String node) {
  static void check(World world, String node, DataPlane plane) {
    new AtRest(world, node).check(plane);
  }

  private void check(DataPlane plane) {
    Routers routers = plane.routers;
    for (DeploymentRouter each : routers.all()) {
      String of = each.deployment() + ": ";
      zero(of + "queued", each.queued());
      zero(of + "at the gate", each.legGate.size());
      zero(of + "running gauge", each.counters.running());
      zero(of + "requests sent and not over", RoutingProbe.notOver(each));
      zero(of + "reserved gauge", each.counters.reserved());
      zero(of + "own elsewhere", RoutingProbe.ownElsewhere(each));
    }
    zero("bound of queued requests", routers.bounds.queued());
    zero("bound of queued bytes", routers.bounds.queuedBytes());
    zero("bound of stream bytes", routers.bounds.streams.bytes());
    zero("grants that wait", routers.bounds.streams.waiting());
    zero("bytes that they need", routers.bounds.streams.needed());
    zero("bound of bytes of bodies", plane.limits.bodies().windows().inUse());
    zero("bound of gathered bytes", plane.limits.bodies().gathered().inUse());
    for (int index = 0; index < plane.loops(); index++) {
      RouterLoop loop = routers.loop(index);
      zero("pending requests", loop.pendingRequests());
      zero("deadlines", loop.deadlines());
      zero("held attempts", RoutingProbe.heldAttempts(loop));
      zero("invocations", plane.replicas(index).invocations());
    }
  }

  private void zero(String what, long value) {
    world.failIf(value != 0, () -> node + ": " + what + " at the end: " + value + " (expected: 0)");
  }
}
