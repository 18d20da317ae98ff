package dev.berth.node;

import dev.berth.cluster.control.ControlClient;
import dev.berth.protocol.port.Loop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;

/**
 * How a node leaves its cluster: it says so, its replicas are made up for elsewhere and stop, and
 * it is committed that it left. Control loop.
 */
final class Goodbye {
  /** In place of an event: nothing runs on the node any more. */
  static final JsonObject EMPTIED = new JsonObject().put("emptied", true);

  /** How long it is waited for that the last word of all is said, in seconds. */
  private static final int LAST_WORD_S = 3;

  private final InstanceHost host;
  private final ControlClient client;
  private final Loop control;
  private Future<Void> left = Future.succeededFuture();

  Goodbye(InstanceHost host, ControlClient client, Loop control) {
    this.host = host;
    this.client = client;
    this.control = control;
  }

  /** Nothing new comes here from now on, where there are others. */
  void say() {
    left = client.leave();
  }

  /**
   * No request of this node is under way. Others may use its replicas until others are there, or
   * the longest grace is over.
   *
   * @param alone whether there are no others
   * @return completes when it may go
   */
  Future<Void> complete(boolean alone) {
    long grace = alone ? 0 : host.deployments.longestGrace().toMillis();
    return host.replicas
        .emptied()
        .timeout(Math.max(1, grace), TimeUnit.MILLISECONDS)
        .recover(late -> stopAll())
        .compose(
            empty -> {
              client.event(Buffer.buffer(EMPTIED.encode()));
              return left.timeout(LAST_WORD_S, TimeUnit.SECONDS).otherwiseEmpty();
            });
  }

  private Future<Void> stopAll() {
    Promise<Void> stopped = Promise.promise();
    control.execute( // a time-out is told of on any thread
        () -> {
          host.replicas.stopAll();
          host.replicas.emptied().onComplete(stopped);
        });
    return stopped.future();
  }
}
