package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.RequestContext;
import dev.berth.cluster.bus.BusCluster;
import dev.berth.cluster.bus.BusRegistrations;
import dev.berth.cluster.bus.ClusteredVertx;
import dev.berth.cluster.data.FakeNode;
import dev.berth.fakes.FakeParent;
import dev.berth.node.TestNode;
import dev.berth.replica.hooks.ApplicationWorkers;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventLoopsTest {
  private @Nullable Vertx vertx;

  @AfterEach
  void close() throws Exception {
    if (vertx != null) {
      TestNode.await(vertx.close());
    }
  }

  private Vertx vertx(int loops) {
    Vertx made = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(loops));
    vertx = made;
    return made;
  }

  @Test
  void eachServingLoopAndTheControlLoopHasAThreadOfItsOwn() throws Exception {
    EventLoops loops =
        TestNode.await(
            EventLoops.of(
                vertx(4), 3, new LoopVerticle("control loop"), null, new ApplicationWorkers(2)));

    Set<Thread> threads = new HashSet<>();
    for (LoopVerticle loop : loops.serving()) {
      threads.add(threadOf(loop));
    }
    assertThat(threads).hasSize(3).doesNotContain(threadOf(loops.control()));
  }

  @Test
  void whatIsDeployedOnALoopRunsThereWhateverTheOrder() throws Exception {
    EventLoops loops =
        TestNode.await(
            EventLoops.of(
                vertx(3), 2, new LoopVerticle("control loop"), null, new ApplicationWorkers(2)));
    LoopVerticle second = loops.serving().get(1);
    Part late = new Part();
    Part later = new Part();

    TestNode.await(second.deploy(late));
    TestNode.await(loops.control().deploy(new Part()));
    TestNode.await(second.deploy(later));

    assertThat(late.thread).isSameAs(later.thread).isSameAs(threadOf(second));
  }

  @Test
  void consumersOfAHookRunOnTheLoopOfTheirReplica() throws Exception {
    EventLoops loops =
        TestNode.await(
            EventLoops.of(
                vertx(4), 3, new LoopVerticle("control loop"), null, new ApplicationWorkers(2)));
    for (LoopVerticle loop : loops.serving()) {
      EventBus bus = loop.eventBus("app");
      CompletableFuture<Thread> ran = new CompletableFuture<>();
      ClassLoader before = Thread.currentThread().getContextClassLoader();
      bus.consumer("hook " + loop, message -> ran.complete(Thread.currentThread()));
      assertThat(bus.send("hook " + loop, "x")).isSameAs(bus);
      assertThat(ran.get(10, TimeUnit.SECONDS)).isSameAs(threadOf(loop));
      assertThat(Vertx.currentContext()).as("of this thread").isNull();
      assertThat(Thread.currentThread().getContextClassLoader()).isSameAs(before);
      assertThatThrownBy(() -> bus.send("x", new Object()))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void requestKeepsItsContextUntilItsApplicationIsForgotten() throws Exception {
    RequestLocal.prepare();
    LoopVerticle loop =
        TestNode.await(
                EventLoops.of(
                    vertx(2), 1, new LoopVerticle("control loop"), null, new ApplicationWorkers(2)))
            .serving()
            .get(0);
    FakeParent request = new FakeParent();

    List<ContextInternal> first = contexts(loop, request, new FakeParent());
    loop.forget("app");
    List<ContextInternal> second = contexts(loop, request, new FakeParent());

    assertThat(first.get(1)).as("entered again").isSameAs(first.get(0));
    assertThat(first.get(2)).as("of another request").isNotSameAs(first.get(0));
    assertThat(first.get(2).workerPool()).isSameAs(first.get(0).workerPool());
    assertThat(second.get(0).workerPool()).isNotSameAs(first.get(0).workerPool());
  }

  /** In which a loop works for a request, enters it again, and works for another one. */
  private static List<ContextInternal> contexts(
      LoopVerticle loop, RequestContext request, RequestContext other) throws Exception {
    CompletableFuture<List<ContextInternal>> seen = new CompletableFuture<>();
    loop.executeFor(
        request,
        () -> {
          List<ContextInternal> contexts = new ArrayList<>();
          contexts.add(ContextInternal.current());
          loop.worksFor(request);
          contexts.add(ContextInternal.current());
          loop.worksFor(other);
          contexts.add(ContextInternal.current());
          seen.complete(contexts);
        });
    return seen.get(10, TimeUnit.SECONDS);
  }

  @Test
  void clusteredEventBusHasTheFirstLoopToItself() throws Exception {
    vertx =
        ClusteredVertx.build(
            Vertx.builder(),
            new VertxOptions().setEventLoopPoolSize(4),
            FakeNode.config("n1", Duration.ofSeconds(1), Duration.ofSeconds(2)),
            new BusCluster("n1~1", new BusRegistrations()));
    LoopVerticle control = new LoopVerticle("control loop");
    EventLoops loops =
        TestNode.await(EventLoops.of(vertx, 2, control, null, new ApplicationWorkers(2)));

    List<EventExecutor> used = new ArrayList<>(List.of(control.home().nettyEventLoop()));
    loops.serving().forEach(loop -> used.add(loop.home().nettyEventLoop()));
    List<EventExecutor> pool = new ArrayList<>();
    ((VertxInternal) vertx).nettyEventLoopGroup().forEach(pool::add);
    assertThat(used).containsExactlyInAnyOrderElementsOf(pool.subList(1, 4));
  }

  @ParameterizedTest
  @CsvSource({"2, control loop: shares its thread", "4, one more than requested (expected: 3)"})
  void otherThreadsThanThoseOfTheLoopsAreAnError(int threads, String said) {
    assertThatThrownBy(
            () ->
                TestNode.await(
                    EventLoops.of(
                        vertx(threads),
                        2,
                        new LoopVerticle("control loop"),
                        null,
                        new ApplicationWorkers(2))))
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining(said);
  }

  @Test
  void aPartThatThrowsFailsItsDeploymentOnly() throws Exception {
    EventLoops loops =
        TestNode.await(
            EventLoops.of(
                vertx(2), 1, new LoopVerticle("control loop"), null, new ApplicationWorkers(2)));
    LoopVerticle loop = loops.serving().get(0);

    Future<Void> failed =
        loop.deploy(
            context -> {
              throw new IllegalStateException("no");
            });

    assertThatThrownBy(() -> TestNode.await(failed)).hasMessageContaining("no");
    TestNode.await(loop.deploy(new Part()));
  }

  private static Thread threadOf(LoopVerticle loop) throws Exception {
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    loop.execute(() -> thread.complete(Thread.currentThread()));
    return thread.get(10, TimeUnit.SECONDS);
  }

  private static final class Part extends VerticleBase {
    @Nullable Thread thread;

    @Override
    public Future<?> start() {
      thread = Thread.currentThread();
      return Future.succeededFuture();
    }
  }
}
