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
 * Ends the process when its heap is full ({@link HeapVerdict}), or when that has ended one of its
 * event loops; on a thread of its own. Netty and Vert.x swallow an {@link OutOfMemoryError} in
 * their tasks, so that the process would live on and answer nobody.
 */
public final class HeapWatch implements Runnable {
  /** Of {@code berth run}: the heap was full. */
  private static final int EXIT_CODE = 5;

  private static final Logger LOG = LoggerFactory.getLogger(HeapWatch.class);
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int MAX_BLIND_LOOKS = 10;

  private static final List<String> OF_YOUNG_OR_PARTS =
      List.of("Young", "Copy", "Scavenge", "Minor", "Pauses", "Concurrent");

  // Made in time: even a constant takes memory when it is used first.
  private final String loopEnded = "an event loop has ended";
  private final String noMemory = "there was no memory to look at the heap for 10 s";

  private final HeapVerdict verdict = new HeapVerdict();
  private final MemoryPoolMXBean oldest;
  private final List<GarbageCollectorMXBean> all;
  private final EventExecutor[] loops;
  private final boolean concurrent;
  private final BooleanSupplier closing;
  private volatile byte @Nullable [] room = new byte[1 << 20]; // for the last words

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
   * @param vertx whose loops end with it and not before
   */
  public static void start(Vertx vertx, BooleanSupplier closing) {
    MemoryPoolMXBean pool = oldest();
    if (pool == null) {
      LOG.warn("the heap is not watched: this collector has no pool that tells its live set");
      return;
    }
    HeapWatch watch = new HeapWatch(pool, (VertxInternal) vertx, closing);
    new DaemonThread(watch, "berth-heap-watch").start();
  }

  /** By itself and not by an executor, which an {@link OutOfMemoryError} can end. */
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
        return loopEnded; // Netty ends one that cannot go on
      }
    }
    String why = verdict.of(sight());
    if (why == null && verdict.wantsCollection(System.nanoTime())) {
      System.gc(); // an instance that cannot work any more asks for no memory either
    }
    return why;
  }

  private void halt(String why) {
    try {
      room = null;
      LOG.error("out of memory, the process halts with exit code {}: {}", EXIT_CODE, why);
    } catch (OutOfMemoryError none) {
      // The exit code says it.
    } finally {
      Runtime.getRuntime().halt(EXIT_CODE); // an orderly end would need memory
    }
  }

  /** The pool that objects stay in: that of old ones, or the only one. */
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

  private HeapVerdict.Sight sight() {
    MemoryUsage live = oldest.getCollectionUsage();
    long collections = 0;
    long millis = 0;
    for (GarbageCollectorMXBean each : all) {
      String name = each.getName();
      if (isFull(name)) {
        collections += each.getCollectionCount();
      }
      if (!name.contains("Cycles")) { // during which the process runs
        millis += each.getCollectionTime();
      }
    }
    // After a concurrent collection what was garbage by its end is in use too: no live set.
    long used = concurrent ? 0 : live.getUsed();
    return new HeapVerdict.Sight(used, live.getMax(), collections, millis, System.nanoTime());
  }

  /** Whether a collector by this name looks at old objects; those that do not have such names. */
  private static boolean isFull(String name) {
    return OF_YOUNG_OR_PARTS.stream().noneMatch(name::contains);
  }
}
