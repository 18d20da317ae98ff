package dev.berth.node;

import dev.berth.code.Builds;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.node.InstanceHost.Instance;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The controller is on another node, which knows what is declared. */
final class Following implements Conduct {
  private @Nullable FollowingControl control; // once there are parts

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
  public Map<String, Map<String, Double>> endpointSplits() {
    return Map.of();
  }

  @Override
  public Commander commander(
      Instance on, InstanceHost host, @Nullable ClusterSide side, Consumer<Announce> announced) {
    FollowingControl made = new FollowingControl(on, host, Objects.requireNonNull(side));
    control = made;
    return made;
  }

  @Override
  public Future<Void> read() {
    return Future.succeededFuture();
  }

  @Override
  public @Nullable Throwable problem() {
    return null;
  }

  @Override
  public Collection<String> awaited() {
    return List.of();
  }

  @Override
  public void handTo(Builds builds) {}

  @Override
  public Future<Void> drain() {
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> close() {
    return Future.succeededFuture();
  }

  @Override
  public void discard() {}
}
