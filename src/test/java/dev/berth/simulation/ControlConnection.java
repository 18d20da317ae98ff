package dev.berth.simulation;

import dev.berth.simulation.UpstreamOwnersSimulation.NodeMachine;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** A connection between an owner and its controller. Each direction keeps its order. */
final class ControlConnection {
  /** Direction of a connection. A partition delays its messages, as TCP does. */
  private final class OrderedPipe {
    private final BooleanSupplier isCut;
    private final ArrayDeque<Runnable> queue = new ArrayDeque<>();
    private long lastNanos;

    OrderedPipe(BooleanSupplier isCut) {
      this.isCut = isCut;
    }

    void send(Runnable message) {
      queue.add(message);
      long delay = sim.random.nextInt(40) == 0 ? sim.random.nextInt(800) : sim.random.nextInt(5);
      long at = sim.world.elapsedNanos() + delay * UpstreamOwnersSimulation.MS;
      lastNanos = Math.max(lastNanos, at);
      sim.world.after(lastNanos - sim.world.elapsedNanos(), "message", this::arrive);
    }

    private void arrive() {
      if (isCut.getAsBoolean()) {
        sim.after(200, this::arrive); // one arrival for each message
      } else {
        Runnable message = queue.poll();
        if (message != null) {
          message.run();
        }
      }
    }
  }

  private final UpstreamOwnersSimulation sim;
  final UpstreamOwner node;
  private final UpstreamControl control;
  private final OrderedPipe up;
  private final OrderedPipe down;
  long registration; // of the node's HELLO
  boolean isClosed; // by the controller
  long beat;

  ControlConnection(UpstreamOwnersSimulation sim, UpstreamOwner node, UpstreamControl control) {
    this.sim = sim;
    this.node = node;
    this.control = control;
    NodeMachine at = node.machine;
    this.up = new OrderedPipe(() -> at.cutUp);
    this.down = new OrderedPipe(() -> at.cutDown);
  }

  void toControl(Consumer<UpstreamControl> message) {
    up.send(
        () ->
            control.host.receive(
                () -> {
                  if (sim.control == control && !isClosed) {
                    message.accept(control);
                  }
                }));
  }

  void toNode(Consumer<UpstreamOwner> message) {
    down.send(
        () ->
            node.receive(
                () -> {
                  if (node.link == this) {
                    message.accept(node);
                  }
                }));
  }

  void close() {
    if (!isClosed) {
      toNode(UpstreamOwner::closeLink);
      isClosed = true;
    }
  }
}
