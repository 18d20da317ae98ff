package dev.berth.node;

import dev.berth.controller.ControllerEvent.Withdrawn;
import io.vertx.core.Future;

/** An instance by itself: its controller commands no other. */
class StandaloneRole extends LocalController {

  StandaloneRole(Parts parts) {
    super(parts);
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
    return control.call(() -> host().replicas.emptied()); // behind these
  }
}
