package dev.berth.node.loops;

import dev.berth.replica.hooks.ApplicationWorkers;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The event loops of an instance: N that serve, and one that controls, each another thread. That
 * this is so is checked at the start and not assumed: a handler that blocks its loop would
 * otherwise stop health checks and leases too, and one ingress less would halve the throughput
 * without a word.
 *
 * @param serving in the order of their index
 * @param control admin, controller, pusher and sweeps, and nothing that serves
 * @param links heartbeats of a cluster's nodes, and nothing else; null without one
 */
public record EventLoops(
    List<LoopVerticle> serving, LoopVerticle control, @Nullable LoopVerticle links) {
  /** What the thread of the control loop is called. */
  public static final String CONTROL_THREAD = "berth-control";

  /** The worker pool of what the instance itself does; user code never runs on it. */
  private static final DeploymentOptions OWN_WORKERS =
      new DeploymentOptions().setWorkerPoolName("berth-instance").setWorkerPoolSize(4);

  public EventLoops {
    serving = List.copyOf(serving);
  }

  /**
   * Takes all loops of a Vert.x that was made for as many.
   *
   * @param control not deployed yet
   * @param links likewise; null without a cluster
   * @param workers of the applications that the serving ones run
   * @return fails when they are not all distinct
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
    return Future.all(made.all().stream().map(loop -> deploy(vertx, loop, made)).toList())
        .map(
            all -> {
              made.requireDistinct(((VertxInternal) vertx).nettyEventLoopGroup());
              // So that its share of the processor can be told from outside.
              control.execute(() -> Thread.currentThread().setName(CONTROL_THREAD));
              return made;
            });
  }

  private static Future<String> deploy(Vertx vertx, LoopVerticle loop, EventLoops all) {
    return all.serving.contains(loop)
        ? vertx.deployVerticle(loop)
        : vertx.deployVerticle(loop, OWN_WORKERS);
  }

  /** Nothing of an application is left: its worker threads end. */
  public void forget(String application) {
    serving.forEach(loop -> loop.forget(application));
  }

  private void requireDistinct(Iterable<EventExecutor> group) {
    Set<EventLoop> used = new HashSet<>();
    for (LoopVerticle loop : all()) {
      if (!used.add(loop.nettyLoop())) {
        throw new IllegalStateException(
            loop + ": shares its thread (expected: a thread for each of " + all() + ")");
      }
    }
    for (EventExecutor each : group) {
      if (!used.remove(each)) {
        throw new IllegalStateException(
            "event loops: one more than asked for (expected: " + all().size() + ")");
      }
    }
  }

  private List<LoopVerticle> all() {
    return Stream.of(serving.stream(), Stream.of(control), Stream.ofNullable(links))
        .flatMap(each -> each)
        .toList();
  }
}
