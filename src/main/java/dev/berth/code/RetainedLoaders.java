package dev.berth.code;

import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.hooks.HookThreads.HookKind;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Class loaders of builds that are no longer used. Static thread locals of their classes are
 * removed from the event loops, whose threads never end. A loader that outlives a collection which
 * unloads classes is retained by user code: it is counted, and reported once with its known
 * holders. Confined to the control loop, except {@link #retained}.
 */
public final class RetainedLoaders {
  private static final Logger LOG = LoggerFactory.getLogger(RetainedLoaders.class);

  /** Class without instances, unloaded by the next collection that unloads classes. */
  private static final class Canary {}

  private static final class ClosedLoader {
    final String application;
    final WeakReference<ApplicationClassLoader> loader;
    final long nanos;
    volatile String holders = "";
    boolean retained;

    ClosedLoader(String application, ApplicationClassLoader loader, long nanos) {
      this.application = application;
      this.loader = new WeakReference<>(loader);
      this.nanos = nanos;
    }
  }

  private final HookThreads threads;
  private final List<? extends Executor> loops;
  private final LongSupplier nanoClock;
  private final long graceNanos;
  private final List<ClosedLoader> closed = new ArrayList<>();
  private @Nullable WeakReference<Class<?>> canary; // set while a closed loader may exist
  private long canaryNanos;
  private volatile int retained;

  /**
   * Creates an empty set.
   *
   * @param loops event loops that run user code
   * @param graceNanos permitted lifetime of a loader after its build was closed, in nanoseconds
   */
  public RetainedLoaders(
      HookThreads threads,
      List<? extends Executor> loops,
      LongSupplier nanoClock,
      long graceNanos) {
    this.threads = threads;
    this.loops = loops;
    this.nanoClock = nanoClock;
    this.graceNanos = graceNanos;
  }

  /**
   * Registers the class loader of a build that is no longer used; null for a build without jars.
   */
  public void onBuildClosed(String application, @Nullable ClassLoader of) {
    if (of instanceof ApplicationClassLoader loader) {
      ClosedLoader one = new ClosedLoader(application, loader, nanoClock.getAsLong());
      closed.add(one);
      try {
        threads.run(application, HookKind.STOP, () -> removeLocals(one)); // may run user code
      } catch (RejectedExecutionException noThread) {
        one.holders = "its thread locals were not inspected";
      }
    }
  }

  private void removeLocals(ClosedLoader one) {
    ApplicationClassLoader loader = one.loader.get();
    if (loader != null) {
      List<String> names = new ArrayList<>();
      List<ThreadLocal<?>> locals = loader.threadLocals(names);
      one.holders = names.isEmpty() ? "" : "its static thread locals " + names;
      try {
        loops.forEach(loop -> loop.execute(() -> locals.forEach(ThreadLocal::remove)));
      } catch (RejectedExecutionException stopping) {
        // The threads of the loops end, and their locals with them.
      }
    }
  }

  /**
   * Checks whether a collection has unloaded classes since the last call. Cheap; called several
   * times a second.
   */
  public void checkUnloaded() {
    if (closed.isEmpty() || (canary != null && canary.get() != null)) {
      return;
    }
    if (canary != null) {
      closed.removeIf(each -> each.loader.get() == null);
      closed.stream().filter(each -> canaryNanos - each.nanos >= graceNanos).forEach(this::report);
      retained = (int) closed.stream().filter(each -> each.retained).count();
    }
    canaryNanos = nanoClock.getAsLong();
    canary = new WeakReference<>(canary());
  }

  private void report(ClosedLoader one) {
    ApplicationClassLoader loader = one.loader.get();
    if (loader == null || one.retained) {
      return;
    }
    one.retained = true;
    String threads = threadsOf(loader);
    LOG.warn(
        "application {}: class loader of an earlier build: still in memory: {}",
        one.application,
        threads.isEmpty() && one.holders.isEmpty()
            ? "holder unknown (expected: no thread, listener or foreign cache that references it)"
            : threads + one.holders);
  }

  private static String threadsOf(ClassLoader loader) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(
            each ->
                each.getContextClassLoader() == loader
                    || each.getClass().getClassLoader() == loader)
        .map(each -> "thread " + each.getName() + " of " + each.getClass().getName() + "; ")
        .collect(Collectors.joining());
  }

  private static Class<?> canary() {
    try (InputStream code =
        RetainedLoaders.class.getResourceAsStream("RetainedLoaders$Canary.class")) {
      byte[] bytes = Objects.requireNonNull(code).readAllBytes();
      return MethodHandles.lookup().defineHiddenClass(bytes, false).lookupClass();
    } catch (IOException | IllegalAccessException impossible) { // own class
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * Returns the number of loaders that outlive their build, as of the last collection. Thread-safe.
   */
  public int retained() {
    return retained;
  }
}
