package dev.berth.node;

import dev.berth.code.Builds;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.node.InstanceHost.Instance;
import io.vertx.core.Future;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The controller is on another node, which knows what is declared. */
final class Following implements Conduct {
  private final Executor offLoop;
  private @Nullable FollowingControl control; // once there are parts

  /**
   * @param offLoop may block
   */
  Following(Executor offLoop) {
    this.offLoop = offLoop;
  }

  @Override
  public Builds.Sources sources() {
    return new Builds.Sources() {
      @Override
      public Builds.@Nullable Source find(String application, long revision) {
        return null;
      }

      @Override
      public Future<Builds.Source> elsewhere(String application, String build) {
        return Objects.requireNonNull(control).code(application, build);
      }
    };
  }

  @Override
  public Commander commander(
      Instance on, InstanceHost host, @Nullable ClusterSide side, Consumer<Announce> announced) {
    FollowingControl made = new FollowingControl(on, host, Objects.requireNonNull(side), offLoop);
    control = made;
    return made;
  }
}
