package dev.berth.node;

import dev.berth.cluster.control.Registrations;
import dev.berth.cluster.membership.Authority;
import dev.berth.cluster.membership.Registered;
import dev.berth.desired.DesiredState;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.ServeControl;
import dev.berth.protocol.port.Loop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Collection;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Who is a node, as the control nodes' log has it. Any thread. */
record LoggedNodes(ServeControl serve, Loop control) implements Registrations {

  @Override
  public Future<Void> register(String name, String process) {
    return commit(registry -> registry.with(name, process)).mapEmpty();
  }

  @Override
  public Future<Void> gone(String name, long number) {
    return commit(registry -> registry.without(name, number)).mapEmpty();
  }

  private Future<NodeRegistry> commit(UnaryOperator<NodeRegistry> change) {
    Promise<NodeRegistry> done = Promise.promise();
    control.execute(() -> serve.nodes(change).onComplete(done));
    return done.future();
  }

  @Override
  public Collection<Registered> known() {
    return serve.nodes().nodes().entrySet().stream()
        .map(
            each ->
                new Registered(
                    each.getKey(), each.getValue().process(), each.getValue().registration()))
        .toList();
  }

  /** What the controller on this node commands by, as it is now. */
  Authority authority() {
    DesiredState now = serve.logged();
    Map.Entry<Long, String> command = now.command();
    return new Authority(
        now.nodes().cluster(),
        now.nodes().generation(),
        now.term(),
        command.getKey(),
        command.getValue());
  }

  @Override
  public boolean includes(Authority seen) {
    return serve.logged().includes(seen.revision(), seen.digest());
  }
}
