package dev.berth.fakes;

import dev.berth.code.BuildCache;
import dev.berth.node.DataPlane;
import dev.berth.node.InstanceRankers;
import dev.berth.protocol.port.LoopExecutor;

/** Rankers of an instance that has no code of its own. */
public final class Rankers {
  private Rankers() {}

  public static InstanceRankers of(DataPlane plane) {
    LoopExecutor control = plane.ports.loops().get(0).loop();
    return new InstanceRankers(
        PlaneBuilder.hooks(Runnable::run),
        control,
        new BuildCache(
            PlaneBuilder.hooks(Runnable::run),
            control,
            (application, revision) -> null,
            event -> {},
            gone -> {}),
        plane.routers.loop(0)::now);
  }
}
