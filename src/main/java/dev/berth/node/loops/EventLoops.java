package dev.berth.node.loops;

import dev.berth.replica.hooks.ApplicationWorkers;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The event loops of an instance: N serving loops and one control loop, each with its own thread.
 * The start checks that the threads differ. Otherwise a handler that blocks its loop would also
 * stop health checks and leases, and a missing ingress would silently halve the throughput.
 *
 * @param serving serving loops, in the order of their index
 * @param control loop of admin, controller, pusher and sweeps; serves no requests
 * @param links loop of heartbeats between nodes, and nothing else; null without a cluster
 */
public record EventLoops(
    List<LoopVerticle> serving, LoopVerticle control, @Nullable LoopVerticle links) {
  /** Name of the control loop's thread. */
  public static final String CONTROL_THREAD = "berth-control";

  /** Worker pool for the instance's own work; user code never runs on it. */
  private static final DeploymentOptions OWN_WORKERS =
      new DeploymentOptions().setWorkerPoolName("berth-instance").setWorkerPoolSize(4);

  /**
   * Deploys all loops of a Vert.x whose event loop pool has exactly this size, and one loop more
   * for a clustered event bus. That loop is the first: Vert.x receives all messages of other nodes
   * on it, and must delay neither requests nor heartbeats.
   *
   * @param control control loop, not deployed yet
   * @param links links loop, not deployed yet; null without a cluster
   * @param workers worker pools of the applications on the serving loops
   * @return fails when two loops share a thread
   */
  public static Future<EventLoops> of(
      Vertx vertx,
      int serving,
      LoopVerticle control,
      @Nullable LoopVerticle links,
      ApplicationWorkers workers) {
    EventLoops made =
        new EventLoops(
            IntStream.range(0, serving)
                .mapToObj(index -> new LoopVerticle("loop " + index, workers))
                .toList(),
            control,
            links);
    if (vertx.isClustered()) {
      skipFirst(vertx);
    }
    return Future.all(made.all().stream().map(loop -> deploy(vertx, loop, made)).toList())
        .map(
            all -> {
              made.requireDistinct(
                  ((VertxInternal) vertx).nettyEventLoopGroup(), vertx.isClustered());
              // Lets tools outside the process attribute processor time to the control loop.
              control.execute(() -> Thread.currentThread().setName(CONTROL_THREAD));
              return made;
            });
  }

  /** Turns the pool so that the next deployment is on its second loop. */
  private static void skipFirst(Vertx vertx) {
    vertx.getOrCreateContext(); // takes a loop for this thread, as the first deployment would
    EventLoopGroup group = ((VertxInternal) vertx).nettyEventLoopGroup();
    EventExecutor first = group.iterator().next();
    EventExecutor next = group.next();
    while (next != first) {
      next = group.next();
    }
  }

  /** Creates a context on the loop of the bus between nodes, where no other code of Berth runs. */
  public static ContextInternal ofBus(VertxInternal vertx) {
    EventLoop first = (EventLoop) vertx.nettyEventLoopGroup().iterator().next();
    return vertx.contextBuilder().withEventLoop(first).build();
  }

  private static Future<String> deploy(Vertx vertx, LoopVerticle loop, EventLoops all) {
    return all.serving.contains(loop)
        ? vertx.deployVerticle(loop)
        : vertx.deployVerticle(loop, OWN_WORKERS);
  }

  /** Ends the worker threads of an application that is completely removed. */
  public void forget(String application) {
    serving.forEach(loop -> loop.forget(application));
  }

  private void requireDistinct(Iterable<EventExecutor> group, boolean skipsFirst) {
    Set<EventLoop> used = new HashSet<>();
    for (LoopVerticle loop : all()) {
      if (!used.add(loop.home().nettyEventLoop())) {
        throw new IllegalStateException(
            loop + ": shares its thread (expected: a thread for each of " + all() + ")");
      }
    }
    boolean skip = skipsFirst;
    for (EventExecutor each : group) {
      if (used.remove(each) == skip) {
        throw new IllegalStateException(
            "event loops: one more than requested (expected: " + all().size() + ")");
      }
      skip = false;
    }
  }

  private List<LoopVerticle> all() {
    return Stream.of(serving.stream(), Stream.of(control), Stream.ofNullable(links))
        .flatMap(each -> each)
        .toList();
  }
}
