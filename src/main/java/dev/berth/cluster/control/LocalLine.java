package dev.berth.cluster.control;

import dev.berth.config.ClusterConfig.Role;
import io.vertx.core.internal.ContextInternal;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** An end of an in-process line between a controller and its own node, on one event loop. */
final class LocalLine implements Line {
  private final ContextInternal loop;
  private @Nullable LocalLine other;
  private @Nullable User user; // null after the end

  private LocalLine(ContextInternal loop) {
    this.loop = loop;
  }

  static void connect(
      ContextInternal loop, Function<Line, User> node, Function<Line, User> controller) {
    LocalLine here = new LocalLine(loop);
    LocalLine there = new LocalLine(loop);
    here.other = there;
    there.other = here;
    there.user = controller.apply(there);
    here.user = node.apply(here);
  }

  @Override
  public void say(Record message) {
    LocalLine to = Objects.requireNonNull(other);
    loop.runOnContext(
        later -> {
          if (to.user != null) {
            to.user.said(message);
          }
        });
  }

  @Override
  public void end(String reason) {
    LocalLine to = Objects.requireNonNull(other);
    loop.runOnContext(later -> to.ended(reason));
    ended(reason);
  }

  private void ended(String reason) {
    User was = user;
    user = null;
    if (was != null) {
      was.ended(reason);
    }
  }

  @Override
  public @Nullable String refusal(String cluster, String node, Role role) {
    return null;
  }
}
