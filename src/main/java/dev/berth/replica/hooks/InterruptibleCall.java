package dev.berth.replica.hooks;

import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe handle of user code that runs on a thread which may block, one call at a time. The
 * thread is interrupted only while it runs that code.
 */
public final class InterruptibleCall {
  /** User code without a result. */
  public interface InterruptibleCode {
    void run() throws Throwable;
  }

  // Guarded by this.
  private @Nullable Thread thread; // while user code runs
  private @Nullable Long beganNanos;
  private boolean ended;

  /**
   * Runs the code on this thread.
   *
   * @return the exception of the code, or {@link CancellationException} when the call was ended;
   *     null on success
   */
  public @Nullable Throwable run(long nowNanos, InterruptibleCode code) {
    try {
      begin(nowNanos);
      code.run();
      over(true);
      return null;
    } catch (Throwable thrown) { // user code
      over(false);
      return thrown;
    } finally {
      Thread.interrupted(); // an interrupt of this call must not reach the next
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
   * Checks between two steps of the code that the next step may begin.
   *
   * @throws CancellationException when the call was ended
   */
  public synchronized void requireWanted() {
    if (ended) {
      throw new CancellationException("stopped");
    }
  }

  /** Interrupts the thread while the code runs. */
  public synchronized void interrupt() {
    if (thread != null) {
      thread.interrupt();
    }
  }

  /**
   * Ends the call because its result is no longer needed: interrupts running code, and prevents
   * code that has not begun.
   *
   * @return whether this call prevented the code
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

  /** Returns the start of the code; null before it. */
  public synchronized @Nullable Long beganNanos() {
    return beganNanos;
  }

  /** Returns the thread that runs the code now; null for none. */
  public synchronized @Nullable Thread thread() {
    return thread;
  }

  /** Returns whether the code has run for at least {@code afterNanos} and was not ended. */
  public synchronized boolean isLate(long afterNanos, long nowNanos) {
    Long began = beganNanos;
    return thread != null && !ended && began != null && nowNanos - began >= afterNanos;
  }
}
