package dev.berth.replica.hooks;

import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * User code that runs on a thread which may block, one call at a time: the thread is interrupted
 * while it runs that code, and at no other time. Any thread.
 */
public final class UserCall {
  /** What is called. */
  public interface Code {
    void run() throws Throwable;
  }

  // All under the lock.
  private @Nullable Thread thread; // while user code runs
  private @Nullable Long beganNanos;
  private boolean ended;

  /**
   * Runs it here and now.
   *
   * @return what it threw, or {@link CancellationException} when nobody waits for it any more; null
   *     when it ended well
   */
  public @Nullable Throwable run(long nowNanos, Code code) {
    try {
      begin(nowNanos);
      code.run();
      over(true);
      return null;
    } catch (Throwable thrown) { // user code
      over(false);
      return thrown;
    } finally {
      Thread.interrupted(); // whatever interrupted it is over with it
    }
  }

  private synchronized void begin(long nowNanos) {
    requireWanted();
    thread = Thread.currentThread();
    beganNanos = nowNanos;
  }

  private synchronized void over(boolean well) {
    if (well) {
      requireWanted();
    }
    thread = null;
  }

  /**
   * Between two steps of its code: another one follows.
   *
   * @throws CancellationException when nobody waits for it any more
   */
  public synchronized void requireWanted() {
    if (ended) {
      throw new CancellationException("told to stop");
    }
  }

  /** Interrupts it if it runs. */
  public synchronized void interrupt() {
    if (thread != null) {
      thread.interrupt();
    }
  }

  /**
   * Nobody waits for it any more: it is interrupted if it runs, and does not begin if it has not.
   *
   * @return whether it would have begun but for this
   */
  public synchronized boolean end() {
    boolean waits = beganNanos == null && !ended;
    ended = true;
    interrupt();
    return waits;
  }

  public synchronized boolean isEnded() {
    return ended;
  }

  /** When it began; null until then. */
  public synchronized @Nullable Long beganNanos() {
    return beganNanos;
  }

  /** The thread on which it runs now. */
  public synchronized @Nullable Thread thread() {
    return thread;
  }

  /** Whether it runs, has done so for that long, and is waited for. */
  public synchronized boolean isLate(long afterNanos, long nowNanos) {
    Long began = beganNanos;
    return thread != null && !ended && began != null && nowNanos - began >= afterNanos;
  }
}
