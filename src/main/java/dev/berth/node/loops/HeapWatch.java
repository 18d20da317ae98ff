package dev.berth.node.loops;

import dev.berth.replica.hooks.DaemonThread;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Thread that ends the process when its heap is exhausted ({@link HeapExhaustionDetector}), or when
 * exhaustion has ended an event loop. Netty and Vert.x swallow an {@link OutOfMemoryError} in their
 * tasks, so the process would otherwise live on without serving.
 */
public final class HeapWatch implements Runnable {
  /** Exit code of {@code berth run} for a full heap. */
  private static final int EXIT_CODE = 5;

  private static final Logger LOG = LoggerFactory.getLogger(HeapWatch.class);
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int MAX_BLIND_LOOKS = 10;

  private static final List<String> OF_YOUNG_OR_PARTS =
      List.of("Young", "Copy", "Scavenge", "Minor", "Pauses", "Concurrent");

  // Created early: even the first use of a constant takes memory.
  private final String loopEnded = "an event loop has ended";
  private final String noMemory = "no memory to check the heap for 10 s";

  private final HeapExhaustionDetector verdict = new HeapExhaustionDetector();
  private final MemoryPoolMXBean oldest;
  private final List<GarbageCollectorMXBean> all;
  private final EventExecutor[] loops;
  private final boolean concurrent;
  private final BooleanSupplier closing;
  private volatile byte @Nullable [] room = new byte[1 << 20]; // reserve for the last log line

  private HeapWatch(MemoryPoolMXBean oldest, VertxInternal vertx, BooleanSupplier closing) {
    this.oldest = oldest;
    this.all = ManagementFactory.getGarbageCollectorMXBeans();
    this.concurrent = all.stream().anyMatch(each -> each.getName().contains("Cycles"));
    this.loops =
        Stream.of(vertx.nettyEventLoopGroup(), vertx.acceptorEventLoopGroup())
            .flatMap(group -> StreamSupport.stream(group.spliterator(), false))
            .toArray(EventExecutor[]::new);
    this.closing = closing;
  }

  /**
   * Watches this process until the instance closes.
   *
   * @param vertx its loops end only when the instance closes
   */
  public static void start(Vertx vertx, BooleanSupplier closing) {
    MemoryPoolMXBean pool = oldest();
    if (pool == null) {
      LOG.warn("heap not monitored: this collector has no pool of live objects");
      return;
    }
    HeapWatch watch = new HeapWatch(pool, (VertxInternal) vertx, closing);
    new DaemonThread(watch, "berth-heap-watch").start();
  }

  /** Runs on a plain thread: an {@link OutOfMemoryError} can end the threads of an executor. */
  @Override
  public void run() {
    int blind = 0;
    while (!closing.getAsBoolean()) {
      LockSupport.parkNanos(LOOK_NANOS);
      try {
        String why = look();
        blind = 0;
        if (why != null && !closing.getAsBoolean()) {
          halt(why);
        }
      } catch (OutOfMemoryError none) {
        if (++blind >= MAX_BLIND_LOOKS) {
          halt(noMemory);
        }
      }
    }
  }

  private @Nullable String look() {
    for (int i = 0; i < loops.length; i++) {
      if (loops[i].isShuttingDown()) {
        return loopEnded; // Netty ends a loop that cannot continue
      }
    }
    String why = verdict.of(sight());
    if (why == null && verdict.wantsCollection(System.nanoTime())) {
      System.gc(); // an exhausted instance allocates too little to cause a collection
    }
    return why;
  }

  private void halt(String why) {
    try {
      room = null;
      LOG.error("out of memory: halting with exit code {}: {}", EXIT_CODE, why);
    } catch (OutOfMemoryError none) {
      // The exit code still reports the cause.
    } finally {
      Runtime.getRuntime().halt(EXIT_CODE); // an orderly end would need memory
    }
  }

  /** Returns the pool of long-lived objects: the pool of old objects, or the only pool. */
  private static @Nullable MemoryPoolMXBean oldest() {
    MemoryPoolMXBean found = null;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      String name = pool.getName();
      boolean young = name.contains("Eden") || name.contains("Survivor") || name.contains("Young");
      if (pool.getType() == MemoryType.HEAP && !young && pool.getCollectionUsage() != null) {
        found = pool;
      }
    }
    return found;
  }

  private HeapExhaustionDetector.HeapObservation sight() {
    MemoryUsage live = oldest.getCollectionUsage();
    long collections = 0;
    long millis = 0;
    for (GarbageCollectorMXBean each : all) {
      String name = each.getName();
      if (isFull(name)) {
        collections += each.getCollectionCount();
      }
      if (!name.contains("Cycles")) { // the process runs during cycles
        millis += each.getCollectionTime();
      }
    }
    // After a concurrent collection, usage includes garbage that arose meanwhile: no live set.
    long used = concurrent ? 0 : live.getUsed();
    return new HeapExhaustionDetector.HeapObservation(
        used, live.getMax(), collections, millis, System.nanoTime());
  }

  /** Returns whether a collector of this name collects old objects. */
  private static boolean isFull(String name) {
    return OF_YOUNG_OR_PARTS.stream().noneMatch(name::contains);
  }
}
