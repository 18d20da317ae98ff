package dev.berth.simulation;

import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.simulation.LifecycleCode.Part;
import dev.berth.simulation.LifecycleUserCode.Handler;
import dev.berth.view.ReplicaPhase;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * How long user code takes, in virtual time: mostly little, at times more than a controller takes
 * to start anew, or so long that it counts as hanging; some of it heeds no interrupt then.
 */
final class LifecycleHooks {
  /** What hangs ends by itself after so long at most. */
  private static final int HANGS_SECONDS = 900;

  final Map<String, Handler> handlers = new HashMap<>(); // by replica
  private final World world;
  private final SplittableRandom random;
  private final BooleanSupplier rough;
  private final BooleanSupplier checkHangs;
  int ignored; // hooks that hung and heeded no interrupt

  /**
   * @param rough whether what hangs may still begin
   * @param checkHangs whether the health check that runs now takes long
   */
  LifecycleHooks(World world, BooleanSupplier rough, BooleanSupplier checkHangs) {
    this.world = world;
    this.random = world.randomness();
    this.rough = rough;
    this.checkHangs = checkHangs;
  }

  /** A controller that begins is told what a replica runs, and not what it may come to run. */
  void requireThatItIsTold(Found found) {
    Handler handler = handlers.get(found.info().replicaId());
    boolean runs = found.phase() == ReplicaPhase.RUNNING || found.phase() == ReplicaPhase.UPDATING;
    if (handler == null || !runs) {
      return;
    }
    if (!handler.taken.contains(Part.liveOf(found.target()))) {
      throw world.fail(
          "found: " + found + " (expected: one of what it took: " + handler.taken + ")");
    }
    if ((handler.isTaking || handler.hasRefused) && found.next() == null && !found.refused()) {
      throw world.fail("found: " + found + " (expected: with what it takes, or has refused)");
    }
  }

  int draw(int bound) {
    return random.nextInt(bound);
  }

  boolean chance(int percent) {
    return random.nextInt(100) < percent;
  }

  void later(long millis, Runnable task) {
    world.after(TimeUnit.MILLISECONDS.toNanos(millis), "later", task);
  }

  private static void takes(long millis, boolean heeds) throws InterruptedException {
    SimulatedThreads.pause(TimeUnit.MILLISECONDS.toNanos(millis), heeds);
  }

  private void hangs(boolean heeds) throws InterruptedException {
    ignored += heeds ? 0 : 1;
    takes(TimeUnit.SECONDS.toMillis(60 + random.nextInt(HANGS_SECONDS - 60)), heeds);
  }

  /** Half of what hangs is in the name of the version, which is replaced at the end. */
  private void takes(String version, int millis, int slowMillis) throws InterruptedException {
    if (version.endsWith("?") || version.endsWith("%")) {
      hangs(version.endsWith("?"));
    } else if (chance(10)) {
      takes(slowMillis + random.nextInt(3 * slowMillis), true);
    } else {
      takes(10 + random.nextInt(millis), true);
    }
  }

  void build() throws InterruptedException {
    takes("", 4_000, 6_000);
  }

  void start(String code) throws InterruptedException {
    takes(code, 3_000, 10_000);
  }

  void reconfigure(String live) throws InterruptedException {
    takes(live, 2_000, 8_000);
  }

  void stop() throws InterruptedException {
    if (rough.getAsBoolean() && chance(8)) {
      hangs(random.nextBoolean());
    } else {
      takes(random.nextInt(chance(10) ? 15_000 : 500), true);
    }
  }

  void checkHealth() throws InterruptedException {
    if (checkHangs.getAsBoolean()) {
      takes(1_000 + random.nextInt(80_000), random.nextBoolean());
    }
  }
}
