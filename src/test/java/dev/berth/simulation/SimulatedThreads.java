package dev.berth.simulation;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one process, on which user code may wait in virtual time. Each task has a real
 * thread, so that what ships runs on it as it is, its interrupts included; but one runs at a time,
 * and passes its turn on only where it waits, so the order of all is the seed's.
 */
final class SimulatedThreads implements Executor {
  /** The longest a task waits for its thread. */
  private static final int WAKE_NANOS = 200_000;

  private static final ArrayDeque<Carrier> IDLE = new ArrayDeque<>();

  /** The process of a thread is gone: it unwinds, and whatever it does meanwhile is lost. */
  private static final class Gone extends Error {
    private static final long serialVersionUID = 1;

    Gone() {
      super("the process is gone", null, false, false);
    }
  }

  private final World world;
  private final String name;
  private final SplittableRandom random;
  private final Set<Carrier> busy = new LinkedHashSet<>();
  private boolean halted;
  private int interrupted; // waits that an interrupt ended

  SimulatedThreads(World world, String name) {
    this.world = world;
    this.name = name;
    this.random = world.randomness();
  }

  @Override
  public void execute(Runnable task) {
    world.after(random.nextInt(WAKE_NANOS), name, () -> run(task));
  }

  private void run(Runnable task) {
    if (!halted) {
      Carrier carrier = Carrier.idle();
      carrier.owner = this;
      carrier.task = task;
      busy.add(carrier);
      carrier.goOn();
    }
  }

  /** Whether the caller runs on one of them. */
  boolean isCurrent() {
    return Thread.currentThread() instanceof Carrier carrier && carrier.owner == this;
  }

  /** Tasks that have not ended. */
  int busy() {
    return busy.size();
  }

  /** Waits that ended before their time. */
  int interrupted() {
    return interrupted;
  }

  /** The process dies: no task goes on. */
  void halt() {
    halted = true;
    List.copyOf(busy).forEach(Carrier::goOn);
  }

  /**
   * What runs on this thread takes so long; nothing happens where there is no thread of ours.
   *
   * @param heeds whether an interrupt ends it at once
   */
  static void pause(long nanos, boolean heeds) throws InterruptedException {
    if (Thread.currentThread() instanceof Carrier carrier) {
      carrier.pause(nanos, heeds);
    }
  }

  /** Runs one task after the other, for whichever process has one. */
  private static final class Carrier extends Thread {
    private final Semaphore turn = new Semaphore(0);
    private final Semaphore passedOn = new Semaphore(0);
    @Nullable SimulatedThreads owner;
    @Nullable Runnable task;
    private boolean heeding; // it waits, and an interrupt ends that
    private int waits;

    static Carrier idle() {
      Carrier known = IDLE.poll();
      if (known != null) {
        return known;
      }
      Carrier made = new Carrier();
      made.setDaemon(true);
      made.start();
      return made;
    }

    /** Lets it run until it waits or is done. By whoever runs the world. */
    void goOn() {
      turn.release();
      passedOn.acquireUninterruptibly();
      if (task == null) {
        IDLE.push(this);
      }
    }

    @Override
    public void run() {
      while (true) {
        turn.acquireUninterruptibly();
        runTask();
        task = null;
        passedOn.release();
      }
    }

    private void runTask() {
      SimulatedThreads own = owner;
      Runnable mine = task;
      if (own == null || mine == null) {
        throw new IllegalStateException("task: none (expected: one)");
      }
      try {
        mine.run();
        if (Thread.interrupted() && !own.halted) {
          own.world.fail("a thread is interrupted after its task, as if the next were meant");
        }
      } catch (Throwable thrown) {
        if (!own.halted) {
          own.world.fail("a task threw " + thrown, thrown);
        }
      } finally {
        own.busy.remove(this);
      }
    }

    void pause(long nanos, boolean heeds) throws InterruptedException {
      SimulatedThreads own = owner;
      if (own == null || own.halted) {
        throw new Gone();
      }
      if (heeds && Thread.interrupted()) {
        throw new InterruptedException();
      }
      int wait = ++waits;
      heeding = heeds;
      own.world.after(nanos, own.name, () -> goOnFrom(wait));
      passedOn.release();
      turn.acquireUninterruptibly();
      heeding = false;
      waits++;
      if (own.halted) {
        throw new Gone();
      }
      if (heeds && Thread.interrupted()) {
        own.interrupted++;
        throw new InterruptedException();
      }
    }

    private void goOnFrom(int wait) {
      if (wait == waits) {
        goOn();
      }
    }

    /** What waits goes on in an event of its own, since whoever interrupts it goes on first. */
    @Override
    public void interrupt() {
      super.interrupt();
      SimulatedThreads own = owner;
      if (heeding && own != null) {
        heeding = false;
        int wait = waits;
        own.world.after(0, own.name, () -> goOnFrom(wait));
      }
    }
  }
}
