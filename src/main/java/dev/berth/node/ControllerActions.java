package dev.berth.node;

import dev.berth.code.Policies;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.AskPolicy;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.NodeGone;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.Recovered;
import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.controller.RoutingPublisher;
import dev.berth.desired.ServeControl;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does what the controller wants where it is: publishes, says, keeps and asks; what instances are
 * to do is handed on. What fails fails alone. Belongs to the control loop.
 *
 * @param gate knows the newest controller
 * @param routing of the controller there is
 * @param serve keeps what it is told of
 * @param announced told of the states of applications, after they were logged
 * @param recovered receives the end of the recovery: the controller knows what runs
 * @param instances do the commands, in their order
 */
record ControllerActions(
    EpochGate gate,
    TransitionLog transitions,
    Policies policies,
    Supplier<RoutingPublisher> routing,
    ServeControl serve,
    Consumer<Announce> announced,
    Consumer<Recovered> recovered,
    Consumer<Command> instances)
    implements Consumer<ControllerAction> {
  private static final Logger LOG = LoggerFactory.getLogger(ControllerActions.class);

  @Override
  public void accept(ControllerAction action) {
    try {
      apply(action);
    } catch (RuntimeException failed) { // the others are no worse for it
      LOG.error("not done: {}", action, failed);
    }
  }

  private void apply(ControllerAction action) {
    if (action instanceof Publish publish) {
      routing.get().publish(publish.snapshot());
    } else if (action instanceof NodeGone gone) {
      routing.get().lost(gone.node());
    } else if (action instanceof Recovered known) {
      routing.get().recovered();
      recovered.accept(known);
    } else if (action instanceof Announce announce) {
      transitions.announce(announce);
      serve.announced(announce);
      announced.accept(announce);
    } else if (action instanceof AnnounceDeployment announce) {
      transitions.announce(announce);
    } else if (action instanceof AnnounceReplica announce) {
      transitions.announce(announce);
    } else if (action instanceof Rescale rescale) {
      if (gate.admits(rescale.epoch())) {
        transitions.rescaled(rescale);
        serve.autoscaled(rescale.deployment(), rescale.now());
      }
    } else if (action instanceof AskPolicy ask) {
      if (gate.admits(ask.epoch())) {
        policies.ask(ask);
      }
    } else if (action instanceof Command command) {
      handOn(command);
    }
  }

  private void handOn(Command command) {
    if (command instanceof Forget forget && gate.admits(forget.epoch())) {
      routing.get().forget(forget.deployment());
      policies.forget(forget.deployment());
    }
    instances.accept(command);
  }
}
