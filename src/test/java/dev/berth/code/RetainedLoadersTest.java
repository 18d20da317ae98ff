package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Class loaders after their build was closed; collections are real ones. */
class RetainedLoadersTest {
  private static final Duration GRACE = Duration.ofMinutes(1);

  @TempDir Path folder;
  private final ManualClock clock = new ManualClock();
  private final ExecutorService loop = Executors.newSingleThreadExecutor();
  private final RetainedLoaders retained =
      new RetainedLoaders(PlaneBuilder.hooks(Runnable::run), List.of(loop), clock, GRACE.toNanos());

  @AfterEach
  void stop() {
    loop.shutdownNow();
  }

  private ApplicationClassLoader loader() throws Exception {
    Path jar =
        CompiledJar.in(
            folder,
            "held.jar",
            """
            package p;
            public final class Held implements Runnable {
              private static final ThreadLocal<Held> LOCAL = new ThreadLocal<>();
              public void run() {
                LOCAL.set(this);
              }
            }
            """);
    return new ApplicationClassLoader(
        "a", List.of(jar.toUri().toURL()), getClass().getClassLoader());
  }

  private static Runnable held(ClassLoader loader) throws Exception {
    return (Runnable) loader.loadClass("p.Held").getDeclaredConstructor().newInstance();
  }

  /** Each turn of its canary is a collection. */
  private void collectUntil(BooleanSupplier condition, String what) {
    long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - end).as(what).isNegative();
      System.gc();
      clock.advanceNanos(GRACE.toNanos());
      retained.checkUnloaded();
    }
  }

  @Test
  void staticThreadLocalOnAnEventLoopKeepsNoLoader() throws Exception {
    ApplicationClassLoader loader = loader();
    WeakReference<ClassLoader> watched = new WeakReference<>(loader);
    loop.submit(held(loader)).get();
    retained.onBuildClosed("a", loader);
    loader.close();
    loader = null;
    collectUntil(() -> watched.get() == null, "the loader stays");
    collectUntil(() -> retained.retained() == 0, "it is counted");
  }

  @Test
  void buildClosedAfterTheLoopsStoppedFailsNoHook() throws Exception {
    List<Runnable> hooks = new ArrayList<>();
    loop.shutdownNow();
    new RetainedLoaders(PlaneBuilder.hooks(hooks::add), List.of(loop), clock, 0)
        .onBuildClosed("a", loader());
    assertThat(hooks).hasSize(1).allSatisfy(Runnable::run);
  }

  @Test
  void loaderThatAThreadHoldsIsCountedUntilItEnds() throws Exception {
    ApplicationClassLoader loader = loader();
    WeakReference<ClassLoader> watched = new WeakReference<>(loader);
    CountDownLatch end = new CountDownLatch(1);
    Thread thread = new Thread(() -> await(end), "of the application");
    thread.setContextClassLoader(loader);
    thread.start();
    retained.onBuildClosed("a", loader);
    loader.close();
    loader = null;
    assertThat(retained.retained()).isZero();
    collectUntil(() -> retained.retained() == 1, "it is not counted");
    end.countDown();
    thread.join();
    thread = null;
    collectUntil(() -> watched.get() == null && retained.retained() == 0, "it stays counted");
  }

  private static void await(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }
}
