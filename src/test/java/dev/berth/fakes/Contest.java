package dev.berth.fakes;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Real threads that meet again and again: in each round one thread prepares, all act at once, and
 * one checks when all are done. The amount of work is the number of rounds. Waiting is done by
 * spinning and yielding, because threads that were parked wake up one after another and hardly ever
 * meet.
 */
public final class Contest {
  private static final int SPINS_BEFORE_YIELD = 200;

  /** One round; prepare and check run on the thread that called {@link #run}. */
  public interface Round {
    default void prepare(int round) {}

    /** Runs on every contender's own thread, 0 being that of the caller. */
    void act(int contender, int round);

    void check(int round);
  }

  private final int contenders;
  private final int rounds;
  private final int mostSpins;
  private final Round round;
  private final AtomicInteger arrived = new AtomicInteger();
  private volatile int generation;
  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private volatile boolean over;

  private Contest(int contenders, int rounds, int mostSpins, Round round) {
    this.contenders = contenders;
    this.rounds = rounds;
    this.mostSpins = mostSpins;
    this.round = round;
  }

  /** Stops at the first round that fails; what is thrown names the round. */
  public static void run(int contenders, int rounds, Round round) {
    run(contenders, rounds, 1, round);
  }

  /** Each contender first spins for a while that its seed draws, so that they meet everywhere. */
  public static void run(int contenders, int rounds, int mostSpins, Round round) {
    new Contest(contenders, rounds, mostSpins, round).run();
  }

  private void run() {
    List<Thread> threads = new ArrayList<>();
    for (int i = 1; i < contenders; i++) {
      int contender = i;
      Thread thread = new Thread(() -> contend(contender), "contender-" + contender);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    SplittableRandom random = new SplittableRandom(0);
    int at = 0;
    try {
      for (; at < rounds && failures.isEmpty(); at++) {
        round.prepare(at);
        meet();
        act(0, at, random);
        meet();
        if (failures.isEmpty()) {
          round.check(at);
        }
      }
    } catch (Throwable failed) {
      failures.add(failed);
    } finally {
      over = true;
      meet();
    }
    for (Thread thread : threads) {
      join(thread);
    }
    if (!failures.isEmpty()) {
      AssertionError error = new AssertionError("round " + at + " of " + rounds);
      error.initCause(failures.poll());
      failures.forEach(error::addSuppressed);
      throw error;
    }
  }

  private void contend(int contender) {
    SplittableRandom random = new SplittableRandom(contender);
    for (int at = 0; ; at++) {
      meet();
      if (over) {
        return;
      }
      act(contender, at, random);
      meet();
    }
  }

  private void act(int contender, int at, SplittableRandom random) {
    for (int i = random.nextInt(mostSpins); i > 0; i--) {
      Thread.onSpinWait();
    }
    try {
      round.act(contender, at);
    } catch (Throwable failed) {
      failures.add(failed);
    }
  }

  private void meet() {
    int now = generation;
    if (arrived.incrementAndGet() == contenders) {
      arrived.set(0);
      generation = now + 1;
      return;
    }
    for (int spins = 0; generation == now; spins++) {
      if (spins < SPINS_BEFORE_YIELD) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }
}
