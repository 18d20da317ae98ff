package dev.berth.node.loops;

import dev.berth.api.RequestContext;
import dev.berth.metrics.LoopLag;
import dev.berth.metrics.Meters;
import dev.berth.protocol.port.BlockedLoop;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.log.StackText;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watch on the control loop that reports when a serving loop is blocked and when it runs again. A
 * loop has at most one beat in flight, so a blocked loop accumulates none. While no loop is busy,
 * beats are rare: a loop without requests is blocked only by tasks that user code left there.
 */
public final class LoopWatchVerticle extends VerticleBase {
  private static final Logger LOG = LoggerFactory.getLogger(LoopWatchVerticle.class);
  private static final int BEATS_PER_BLOCK = 4;
  private static final long MAX_INTERVAL_MS = 50;
  private static final long MIN_INTERVAL_MS = 5;
  // between reports of a blocked loop
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Data plane of the loops, called on the control loop. */
  public interface LoopStateListener {
    void loopBlocked(int loop, boolean blocked);

    /**
     * Returns whether a loop has requests or deadlines, or had some in the last second. A loop that
     * becomes busy again calls {@link LoopWatchVerticle#need}.
     */
    boolean isBusy(int loop);

    /** Receives the state of a blocked loop once a second, and null when the loop runs again. */
    void looked(int loop, @Nullable BlockedLoop blocked);
  }

  private final List<WatchedLoop> watched = new ArrayList<>();
  private final List<LoopVerticle> loops;
  private final Meters meters;
  private final Duration blockedAfter;
  private final Duration lastingAfter;
  private final LoopLag controlLag = new LoopLag("control", "control");
  private final LongSupplier nanoClock;
  private final InstantSource wallClock;
  private final LoopStateListener listener;
  private final long intervalNanos;
  private final TickTimer.LoopTick ticks;
  private long tickDueNanos;

  /**
   * @param control timer of the control loop
   * @param loops serving loops, in the order of their index
   * @param meters show the lag of each loop, and of the control loop
   * @param blockedAfter delay of a task at which a loop counts as blocked
   * @param lastingAfter duration of a handler's block at which the block is lasting; 0 for never
   */
  public LoopWatchVerticle(
      TickTimer control,
      List<LoopVerticle> loops,
      Meters meters,
      Duration blockedAfter,
      Duration lastingAfter,
      LongSupplier nanoClock,
      InstantSource wallClock,
      LoopStateListener listener) {
    this.loops = loops;
    this.meters = meters;
    this.blockedAfter = blockedAfter;
    this.lastingAfter = lastingAfter;
    this.nanoClock = nanoClock;
    this.wallClock = wallClock;
    this.listener = listener;
    this.intervalNanos = TimeUnit.MILLISECONDS.toNanos(intervalMs(blockedAfter));
    this.ticks = control.every(intervalNanos);
  }

  @Override
  public Future<?> start() {
    meters.addLoop(controlLag);
    for (int index = 0; index < loops.size(); index++) {
      watched.add(new WatchedLoop(index));
    }
    tickDueNanos = nanoClock.getAsLong() + intervalNanos;
    ticks.start(this::tick, () -> {});
    return Future.succeededFuture();
  }

  /** Watches closely from now on, as a loop has become busy. Called on the control loop. */
  public void need() {
    ticks.need();
  }

  /** Returns the nanoseconds until the next tick: long if all loops are idle and answer. */
  private long tick() {
    long now = nanoClock.getAsLong();
    controlLag.add(Math.max(0, now - tickDueNanos)); // this tick is the control loop's own beat
    boolean unanswered = watched.stream().anyMatch(each -> !each.watch.isAnswered());
    watched.forEach(WatchedLoop::tick);
    boolean close = unanswered || IntStream.range(0, loops.size()).anyMatch(listener::isBusy);
    long wait = close ? 0 : TickTimer.IDLE_NANOS;
    tickDueNanos = now + Math.max(wait, intervalNanos);
    return wait;
  }

  /**
   * Returns the interval of beats. A block by a request is detected after 1 to 1.5 times {@code
   * blockedAfter}, and one by a task of a loop without requests up to 2 s later.
   */
  public static long intervalMs(Duration blockedAfter) {
    return Math.max(
        MIN_INTERVAL_MS, Math.min(MAX_INTERVAL_MS, blockedAfter.toMillis() / BEATS_PER_BLOCK));
  }

  @Override
  public Future<?> stop() {
    ticks.stop();
    return Future.succeededFuture();
  }

  /** Watched loop with its beat and its metrics. */
  private final class WatchedLoop implements Runnable {
    private final int index;
    private final LoopVerticle loop;
    private final LoopLag lag;
    private final LoopWatch watch;
    private long lookedNanos;
    private long idleAge; // age of the beat at the last idle stack

    WatchedLoop(int index) {
      this.index = index;
      this.loop = loops.get(index);
      this.lag = new LoopLag("serving", Integer.toString(index));
      meters.addLoop(lag);
      this.watch = new LoopWatch(blockedAfter.toNanos(), intervalNanos, nanoClock.getAsLong());
    }

    void tick() {
      observe();
      if (watch.beat(nanoClock.getAsLong())) {
        loop.execute(this);
      }
    }

    private void observe() {
      long now = nanoClock.getAsLong();
      switch (watch.observe(now)) {
        case BLOCKED -> blocked(now);
        case RUNS_AGAIN -> runsAgain(millisSinceBeat(now));
        case NONE -> {
          if (watch.isBlocked() && now - lookedNanos >= LOOK_NANOS) {
            look(now, loop.stackTrace());
          }
        }
      }
    }

    private long millisSinceBeat(long now) {
      return TimeUnit.NANOSECONDS.toMillis(watch.unansweredNanos(now));
    }

    private void blocked(long now) {
      lag.blocked(true);
      listener.loopBlocked(index, true);
      StackTraceElement[] stack = loop.stackTrace();
      idleAge = 0;
      look(now, stack);
      LOG.atWarn()
          .addKeyValue("stack", StackText.of(stack))
          .log(
              "{}: {} for {} ms: new requests avoid it: {}",
              loop,
              StackText.isIdle(stack) ? "no processor time" : "blocked",
              millisSinceBeat(now),
              StackText.brief(stack));
    }

    private void look(long now, StackTraceElement[] stack) {
      lookedNanos = now;
      boolean idle = StackText.isIdle(stack);
      long age = watch.ageNanos; // without pauses of the process
      idleAge = idle ? age : idleAge;
      RequestContext of = idle ? null : loop.request();
      listener.looked(
          index,
          new BlockedLoop(
              index,
              wallClock.millis() - millisSinceBeat(now),
              age,
              of == null ? "" : of.deployment().toString(),
              of == null ? "" : of.replicaId(),
              of == null ? "" : of.requestId(),
              idle ? "" : StackText.brief(stack),
              !lastingAfter.isZero() && age - idleAge >= lastingAfter.toNanos()));
    }

    private void runsAgain(long millis) {
      lag.blocked(false);
      listener.loopBlocked(index, false);
      listener.looked(index, null);
      LOG.info("{}: running again after {} ms", loop, millis);
    }

    /** Acknowledges the beat, on the watched loop. */
    @Override
    public void run() {
      lag.add(watch.acknowledge(nanoClock.getAsLong()));
      if (watch.isBlocked()) { // reports the end of a block at once
        context.runOnContext(none -> observe());
      }
    }
  }
}
