package dev.berth.node;

import dev.berth.controller.ControllerEvent.Withdrawn;
import io.vertx.core.Future;

/** Role of an instance without a cluster: its controller commands this instance alone. */
class StandaloneRole extends LocalController {

  StandaloneRole(ControllerRoleParts parts) {
    super(parts);
  }

  @Override
  public Future<Void> complete() {
    return Future.succeededFuture();
  }

  /** Releases the state directory at once, so that another instance may start during the drain. */
  @Override
  public Future<Void> drains() {
    super.drains();
    return serve.close();
  }

  /** Withdraws all applications: no other node can run them. */
  @Override
  public Future<Void> withdraw() {
    applications().forEach(each -> tell(new Withdrawn(each)));
    return control.call(() -> host().replicas.emptied()); // after these events
  }
}
