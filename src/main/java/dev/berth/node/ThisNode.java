package dev.berth.node;

import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Withdrawn;
import dev.berth.node.InstanceHost.Instance;
import dev.berth.node.loops.EventBusSender;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/** The controller's own instance, which is all there is without a cluster. */
record ThisNode(Instance on, InstanceHost host) implements Nodes {

  @Override
  public void command(Command command) {
    host.actions.accept(command);
  }

  @Override
  public void send(String node, BusMessage message) {
    on.vertx().eventBus().send(Addresses.routing(node), message, EventBusSender.LOCAL);
  }

  @Override
  public Collection<String> known() {
    return List.of(on.identity().node());
  }

  @Override
  public void tell(Consumer<ControllerEvent> controller) {
    host.builds.closeEarly(); // of what was declared by now all that is wanted was asked for
    controller.accept(host.inventory());
  }

  /** There is nowhere else for what is declared. */
  @Override
  public Future<Void> withdraw(
      Collection<String> applications, Consumer<ControllerEvent> controller) {
    applications.forEach(each -> controller.accept(new Withdrawn(each)));
    Promise<Void> gone = Promise.promise();
    on.loops().control().execute(() -> host.replicas.emptied().onComplete(gone)); // behind these
    return gone.future();
  }
}
