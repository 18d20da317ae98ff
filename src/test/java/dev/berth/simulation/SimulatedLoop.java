package dev.berth.simulation;

import dev.berth.protocol.port.LoopExecutor;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * An event loop: its tasks run in the order they came, one event each, a little later than they
 * came; a stalled loop runs none until its stall is over.
 */
final class SimulatedLoop implements LoopExecutor {
  /** The longest a task waits for a loop that does nothing else. */
  private static final int WAKE_NANOS = 5_000;

  final String node;
  final int index;
  private final World world;
  private final SplittableRandom random;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final String name;
  private boolean armed;
  private boolean halted;
  private boolean running;
  private long stalledUntilNanos;
  private long stalledNanos; // in all, that of a stall under way included to its end
  private @Nullable Runnable heldUp; // told once, when a task waits for the end of a stall
  private @Nullable TaskListener listener;

  /** Sees each task as it is handed over, before it runs. */
  @FunctionalInterface
  interface TaskListener {
    void handedOver(Runnable task);
  }

  SimulatedLoop(World world, String node, int index) {
    this.world = world;
    this.node = node;
    this.index = index;
    this.random = world.randomness();
    this.name = node + "/" + index;
  }

  void listen(TaskListener newListener) {
    listener = newListener;
  }

  @Override
  public void execute(Runnable task) {
    if (halted) {
      return;
    }
    if (listener != null) {
      listener.handedOver(task);
    }
    tasks.add(task);
    arm();
  }

  private void arm() {
    if (!armed && !tasks.isEmpty()) {
      armed = true;
      long wake = random.nextInt(WAKE_NANOS);
      long stall = stalledUntilNanos - world.elapsedNanos();
      if (stall > wake) {
        holdUp();
      }
      world.after(Math.max(wake, stall), name, this::runNext);
    }
  }

  private void runNext() {
    armed = false;
    if (halted) {
      return;
    }
    if (stalledUntilNanos > world.elapsedNanos()) { // stalled after this was scheduled
      holdUp();
      arm();
      return;
    }
    Runnable task = tasks.poll();
    running = true;
    try {
      if (task != null) {
        task.run();
      }
    } finally {
      running = false;
      arm();
    }
  }

  /** Runs a task on this loop after a delay; the result takes it back. */
  Runnable start(long delayNanos, Runnable task) {
    boolean[] cancelled = new boolean[1];
    world.after(
        delayNanos,
        "timer",
        () -> {
          if (!cancelled[0]) {
            execute(
                () -> {
                  if (!cancelled[0]) {
                    task.run();
                  }
                });
          }
        });
    return () -> cancelled[0] = true;
  }

  private void holdUp() {
    Runnable told = heldUp;
    heldUp = null;
    if (told != null) {
      told.run();
    }
  }

  /** User code blocks the loop for so long. */
  void stall(long nanos) {
    stall(nanos, () -> {});
  }

  /**
   * As above.
   *
   * @param met told when a task has to wait for it: else it changed nothing
   */
  void stall(long nanos, Runnable met) {
    long before = Math.max(stalledUntilNanos, world.elapsedNanos());
    stalledUntilNanos = Math.max(before, world.elapsedNanos() + nanos);
    stalledNanos += stalledUntilNanos - before;
    if (stalledUntilNanos > before) {
      heldUp = met;
    }
  }

  /** Its process died: what waits here, and what comes, is lost. */
  void halt() {
    halted = true;
    tasks.clear();
  }

  boolean halted() {
    return halted;
  }

  boolean isStalled() {
    return stalledUntilNanos > world.elapsedNanos();
  }

  /** When its last stall was over, or is to be; 0 for none. */
  long stalledUntilNanos() {
    return stalledUntilNanos;
  }

  /** How long it has been stalled up to now. */
  long stalledNanos() {
    return stalledNanos - Math.max(0, stalledUntilNanos - world.elapsedNanos());
  }

  @Override
  public boolean isHere() {
    return running;
  }

  @Override
  public String toString() {
    return name;
  }
}
