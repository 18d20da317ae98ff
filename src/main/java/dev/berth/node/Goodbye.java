package dev.berth.node;

import dev.berth.cluster.control.ControlClient;
import dev.berth.cluster.membership.Member;
import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * How a node leaves its cluster: it says so, its replicas are made up for elsewhere and stop, and
 * it is committed that it left. Control loop.
 */
final class Goodbye {
  /** In place of an event: nothing runs on the node any more. */
  static final JsonObject EMPTIED = new JsonObject().put("emptied", true);

  /** How long it is waited for a controller, or that the last word of all is said. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private static final Duration LOOK_INTERVAL = Duration.ofMillis(100);

  private final LoopVerticle control;
  private final InstanceHost host;
  private final ControlClient client;
  private final ClusterSide side;
  private final BooleanSupplier led;
  private Future<Void> left = Future.succeededFuture();

  /**
   * @param led whether this node hears a controller
   */
  Goodbye(
      LoopVerticle control,
      InstanceHost host,
      ControlClient client,
      ClusterSide side,
      BooleanSupplier led) {
    this.control = control;
    this.host = host;
    this.client = client;
    this.side = side;
    this.led = led;
  }

  /** Nothing new comes here from now on, where there are others. */
  void say() {
    left = client.leave();
    side.links.leave(); // to the nodes that send here, be there a controller or not
  }

  /**
   * No request of this node is under way. Others may use its replicas until others are there, or
   * the longest grace is over.
   *
   * @return completes when it may go
   */
  Future<Void> complete() {
    Future<Void> emptied = host.replicas.emptied();
    look(emptied, host.deployments.longestGrace());
    return emptied.compose(
        empty -> {
          client.event(Buffer.buffer(EMPTIED.encode()));
          return left.timeout(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).otherwiseEmpty();
        });
  }

  /** Without a controller, which would start others, the replicas stay for a shorter time. */
  private void look(Future<Void> emptied, Duration grace) {
    boolean waits = led.getAsBoolean() || grace.compareTo(PATIENCE) <= 0;
    Duration rest = waits ? grace : PATIENCE;
    if (isAlone() || rest.isNegative()) {
      host.replicas.stopAll();
    } else if (!emptied.isComplete()) {
      Duration next = rest.minus(LOOK_INTERVAL);
      control.home().setTimer(LOOK_INTERVAL.toMillis(), passed -> look(emptied, next));
    }
  }

  /** Returns whether no other node stays, as far as this one knows them. */
  private boolean isAlone() {
    return side.members().list().stream()
        .filter(each -> each.state() != Member.State.LEAVING)
        .allMatch(each -> each.node().busName().equals(side.busName()));
  }
}
