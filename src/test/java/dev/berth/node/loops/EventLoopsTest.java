package dev.berth.node.loops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.node.TestNode;
import dev.berth.replica.hooks.ApplicationWorkers;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.util.HashSet;
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

  @ParameterizedTest
  @CsvSource({"2, control loop: shares its thread", "4, one more than asked for (expected: 3)"})
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
