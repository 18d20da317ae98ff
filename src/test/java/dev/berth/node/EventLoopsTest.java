package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

class EventLoopsTest {
  private @Nullable Vertx vertx;

  @AfterEach
  void close() throws Exception {
    if (vertx != null) {
      await(vertx.close());
    }
  }

  private Vertx vertx(int loops) {
    Vertx made = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(loops));
    vertx = made;
    return made;
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void eachServingLoopAndTheControlLoopHasAThreadOfItsOwn() throws Exception {
    EventLoops loops = await(EventLoops.of(vertx(4), 3, new LoopVerticle("control loop")));

    Set<Thread> threads = new HashSet<>();
    for (LoopVerticle loop : loops.serving()) {
      threads.add(threadOf(loop));
    }
    assertThat(threads).hasSize(3).doesNotContain(threadOf(loops.control()));
  }

  @Test
  void whatIsDeployedOnALoopRunsThereWhateverTheOrder() throws Exception {
    EventLoops loops = await(EventLoops.of(vertx(3), 2, new LoopVerticle("control loop")));
    LoopVerticle second = loops.serving().get(1);
    Part late = new Part();
    Part later = new Part();

    await(second.deploy(late));
    await(loops.control().deploy(new Part()));
    await(second.deploy(later));

    assertThat(late.thread).isSameAs(later.thread).isSameAs(threadOf(second));
  }

  @Test
  void fewerThreadsThanLoopsIsAnError() {
    assertThatThrownBy(() -> await(EventLoops.of(vertx(2), 2, new LoopVerticle("control loop"))))
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("control loop: shares its thread");
  }

  @Test
  void aThreadThatNoLoopHasIsAnError() {
    assertThatThrownBy(() -> await(EventLoops.of(vertx(4), 2, new LoopVerticle("control loop"))))
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("one more than asked for (expected: 3)");
  }

  @Test
  void aPartThatThrowsFailsItsDeploymentOnly() throws Exception {
    EventLoops loops = await(EventLoops.of(vertx(2), 1, new LoopVerticle("control loop")));
    LoopVerticle loop = loops.serving().get(0);

    Future<Void> failed =
        loop.deploy(
            context -> {
              throw new IllegalStateException("no");
            });

    assertThatThrownBy(() -> await(failed)).hasMessageContaining("no");
    await(loop.deploy(new Part()));
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
