package dev.berth.node.loops;

import dev.berth.metrics.LoopLag;
import dev.berth.metrics.MetricSeries;
import dev.berth.replica.log.StackText;
import dev.berth.replica.threads.InstanceHandlerThreads;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Probe of the wait for carrier threads: an empty virtual thread, started while a replica runs its
 * handlers on virtual threads. Confined to the control loop, except where noted.
 */
public final class CarrierWatch {
  private static final Logger LOG = LoggerFactory.getLogger(CarrierWatch.class);

  /** Period of {@link #look}. */
  public static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Minimum wait for a carrier at which the carriers count as blocked. */
  static final long BLOCKED_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Minimum time between two log lines. */
  static final long LINE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final InstanceHandlerThreads handlers;
  private final LongSupplier nanoClock;
  private final Consumer<String> listener;
  private final LoopWatch watch;
  private final LoopLag lag = new LoopLag("carriers", "carriers");
  private long nextLineNanos;

  /**
   * @param listener receives a text about the handler that blocks the carriers; empty when none
   *     does any longer
   */
  public CarrierWatch(
      InstanceHandlerThreads handlers, LongSupplier nanoClock, Consumer<String> listener) {
    this.listener = listener;
    this.handlers = handlers;
    this.nanoClock = nanoClock;
    this.nextLineNanos = nanoClock.getAsLong();
    this.watch = new LoopWatch(BLOCKED_NANOS, INTERVAL_NANOS, nextLineNanos);
  }

  /**
   * Sends a probe unless one is in flight. Called every 100 ms while requests run, else rarely.
   *
   * @return whether the probe before is still in flight
   */
  public boolean look() {
    long now = nanoClock.getAsLong();
    boolean late = !watch.isAnswered();
    switch (watch.observe(now)) {
      case BLOCKED -> blocked(now);
      case RUNS_AGAIN -> {
        lag.blocked(false);
        listener.accept("");
      }
      case NONE -> {}
    }
    if (handlers.anyVirtual() && watch.beat(now)) {
      try {
        handlers.probe(this::answer);
      } catch (RuntimeException | OutOfMemoryError noThread) {
        answer(); // without a thread, the wait is unknown
      }
    }
    return late;
  }

  private void answer() {
    lag.add(watch.acknowledge(nanoClock.getAsLong()));
  }

  private void blocked(long now) {
    lag.blocked(true);
    String text = "carriers of virtual threads blocked: " + handlers.onCarrier(StackText::brief);
    listener.accept(text);
    if (now - nextLineNanos >= 0) {
      nextLineNanos = now + LINE_NANOS;
      LOG.warn("{} (threads: platform keeps handlers apart)", text);
    }
  }

  /** Shows the waits while replicas use virtual threads. */
  public void show(MetricSeries into) {
    if (handlers.anyVirtual()) {
      lag.collect(into);
    }
  }
}
