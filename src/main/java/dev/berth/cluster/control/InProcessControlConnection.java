package dev.berth.cluster.control;

import dev.berth.config.ClusterConfig.ClusterRole;
import io.vertx.core.internal.ContextInternal;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** An end of an in-process line between a controller and its own node, on one event loop. */
final class InProcessControlConnection implements ControlConnection {
  private final ContextInternal loop;
  private @Nullable InProcessControlConnection other;
  private @Nullable ControlConnectionHandler user; // null after the end

  private InProcessControlConnection(ContextInternal loop) {
    this.loop = loop;
  }

  static void connect(
      ContextInternal loop,
      Function<ControlConnection, ControlConnectionHandler> node,
      Function<ControlConnection, ControlConnectionHandler> controller) {
    InProcessControlConnection here = new InProcessControlConnection(loop);
    InProcessControlConnection there = new InProcessControlConnection(loop);
    here.other = there;
    there.other = here;
    there.user = controller.apply(there);
    here.user = node.apply(here);
  }

  @Override
  public void send(Record message) {
    InProcessControlConnection to = Objects.requireNonNull(other);
    loop.runOnContext(
        later -> {
          if (to.user != null) {
            to.user.onMessage(message);
          }
        });
  }

  @Override
  public void end(String reason) {
    InProcessControlConnection to = Objects.requireNonNull(other);
    loop.runOnContext(later -> to.notifyEnded(reason));
    notifyEnded(reason);
  }

  private void notifyEnded(String reason) {
    ControlConnectionHandler was = user;
    user = null;
    if (was != null) {
      was.onEnded(reason);
    }
  }

  @Override
  public @Nullable String refusal(String cluster, String node, ClusterRole role) {
    return null;
  }
}
