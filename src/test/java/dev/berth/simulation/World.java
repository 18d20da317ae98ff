package dev.berth.simulation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Virtual time and the order of events. Events run one at a time, by time; those of the same time
 * in an order the seed draws. Nothing here reads a clock, a thread or a hash of an object, so the
 * same seed gives the same run, and {@link #hash()} says whether it did. One thread.
 */
final class World implements LongSupplier {
  /** Trace entries kept for a failure's report; {@code -Dsimulation.trace=N}. */
  private static final int TRACE_KEPT = Integer.getInteger("simulation.trace", 400);

  private record Event(long atNanos, long lot, long sequence, String what, Runnable task)
      implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      if (atNanos != other.atNanos) {
        return Long.compare(atNanos, other.atNanos);
      }
      return lot == other.lot
          ? Long.compare(sequence, other.sequence)
          : Long.compare(lot, other.lot);
    }
  }

  private record Entry(long atNanos, String what, Object detail) {}

  final long seed;
  private final long originNanos;
  private final SplittableRandom root;
  private final SplittableRandom lots;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final ArrayDeque<Entry> trace = new ArrayDeque<>();
  private @Nullable SimulationFailure failure;
  private long elapsedNanos;
  private long scheduled;
  private long ran;
  private long hash = 0x9E3779B97F4A7C15L;

  World(long seed) {
    this.seed = seed;
    this.root = new SplittableRandom(seed);
    this.lots = root.split();
    // A nano clock may start anywhere: half of the runs pass zero on their way.
    this.originNanos = root.nextBoolean() ? -TimeUnit.SECONDS.toNanos(3) : root.nextLong(1L << 50);
  }

  /** A stream of randomness of one part's own, so that one part's draws do not move another's. */
  SplittableRandom randomness() {
    return root.split();
  }

  /** The virtual nano clock. */
  @Override
  public long getAsLong() {
    return originNanos + elapsedNanos;
  }

  long elapsedNanos() {
    return elapsedNanos;
  }

  /** Events that ran, idle ones not counted. */
  long ran() {
    return ran;
  }

  void after(long delayNanos, String what, Runnable task) {
    if (delayNanos < 0) {
      throw new IllegalArgumentException("delayNanos: " + delayNanos + " (expected: >= 0)");
    }
    events.add(new Event(elapsedNanos + delayNanos, lots.nextLong(), scheduled++, what, task));
  }

  /** An event that comes whether or not anything happens: it does not count as one that ran. */
  void idle(long delayNanos, Runnable task) {
    after(
        delayNanos,
        "idle",
        () -> {
          ran--;
          task.run();
        });
  }

  /** Runs a task within a millisecond after something has come to be. */
  void when(BooleanSupplier reached, Runnable task) {
    idle(
        1_000_000,
        () -> {
          if (reached.getAsBoolean()) {
            task.run();
          } else {
            when(reached, task);
          }
        });
  }

  /** The event that runs now comes whether or not anything happens. */
  void discount() {
    ran--;
  }

  /**
   * Says that a claim does not hold. What is checked within user code would be taken for a failure
   * of that code, so the first failure is kept, and {@link #step} throws it.
   */
  SimulationFailure fail(String message) {
    return fail(message, null);
  }

  SimulationFailure fail(String message, @Nullable Throwable cause) {
    SimulationFailure made = new SimulationFailure(message, cause);
    if (failure == null) {
      failure = made;
    }
    return made;
  }

  /** As {@link #fail(String)}, where it is so. */
  void failIf(boolean is, Supplier<String> claim) {
    if (is) {
      throw fail(claim.get());
    }
  }

  /** Runs events until it is so, and looks after each. */
  void runUntil(BooleanSupplier reached, Runnable look) {
    while (!reached.getAsBoolean()) {
      if (!step()) {
        throw new SimulationFailure("no event left (expected: ticks for ever)");
      }
      look.run();
    }
  }

  /** The same, until all events of some time since the start have run. */
  void runTo(long elapsedNanos, Runnable look) {
    runUntil(() -> nextNanos() > elapsedNanos, look);
  }

  /** What a run of a seed gives; a failure tells how to see it again. */
  <T> T told(long seed, String test, String property, Supplier<T> run) {
    try {
      return run.get();
    } catch (Throwable failure) {
      throw new SimulationFailure(
          failure.getMessage()
              + "\n  seed "
              + seed
              + ", event "
              + ran()
              + Seeds.replay(test, property, seed)
              + "\n  the last events:\n    "
              + String.join("\n    ", tail()),
          failure);
    }
  }

  /** Runs the next event; false when there is none. */
  boolean step() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    elapsedNanos = event.atNanos;
    ran++;
    mix(event.atNanos);
    mix(event.what.hashCode());
    event.task.run();
    if (failure != null) {
      throw failure;
    }
    return true;
  }

  /** Runs everything that is scheduled. */
  void runAll() {
    runTo(Long.MAX_VALUE - 1, () -> {});
  }

  /** Time of the next event since the start; {@link Long#MAX_VALUE} when there is none. */
  long nextNanos() {
    Event next = events.peek();
    return next == null ? Long.MAX_VALUE : next.atNanos;
  }

  /** Writes into the trace what the seed must reproduce. The detail's text must be reproducible. */
  void note(String what, Object detail) {
    mix(what.hashCode());
    if (detail instanceof Number number) {
      mix(number.longValue());
    } else if (detail instanceof String text) {
      mix(text.hashCode());
    }
    trace.addLast(new Entry(elapsedNanos, what, detail));
    if (trace.size() > TRACE_KEPT) {
      trace.removeFirst();
    }
  }

  void mix(long value) {
    hash = Long.rotateLeft((hash ^ value) * 0xBF58476D1CE4E5B9L, 29);
  }

  /** Equal for equal runs. */
  long hash() {
    return hash;
  }

  /** The last entries, oldest first, for people. */
  List<String> tail() {
    List<String> lines = new ArrayList<>();
    for (Entry entry : trace) {
      lines.add(
          String.format("%,15d µs  %-14s %s", entry.atNanos / 1000, entry.what, entry.detail));
    }
    return lines;
  }
}
