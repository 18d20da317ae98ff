package dev.berth.node;

import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent.Withdrawn;
import dev.berth.desired.ServeControl;
import dev.berth.node.InstanceHost.Instance;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.function.Consumer;
import java.util.function.Function;

/** An instance by itself: its controller commands no other. */
class StandaloneRole extends LocalController {

  StandaloneRole(
      Instance on,
      Function<NodeRole, InstanceHost> host,
      ServeControl serve,
      Consumer<Announce> announced,
      Runnable drainAsked) {
    super(on, host, serve, announced, drainAsked);
  }

  @Override
  public Future<Void> complete() {
    return Future.succeededFuture();
  }

  /** Releases the state directory at once, so that another instance may start meanwhile. */
  @Override
  public Future<Void> drains() {
    super.drains();
    return serve.close();
  }

  /** Deletes what is declared: there is no other node for it. */
  @Override
  public Future<Void> withdraw() {
    applications().forEach(each -> tell(new Withdrawn(each)));
    Promise<Void> gone = Promise.promise();
    control.execute(() -> host().replicas.emptied().onComplete(gone)); // behind these
    return gone.future();
  }
}
