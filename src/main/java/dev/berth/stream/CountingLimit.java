package dev.berth.stream;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Thread-safe counting limit. {@code tryTake} never exceeds its limit, and an attempt that fails
 * does not delay others. Each success requires one {@link #give}.
 */
public final class CountingLimit {
  public final long most;
  private final AtomicLong taken = new AtomicLong();

  /**
   * @param most the limit, in the unit of the owner (such as bytes)
   */
  public CountingLimit(long most) {
    this.most = most;
  }

  /** Acquires {@code amount} if it is available. */
  public boolean tryTake(long amount) {
    return tryTake(amount, most);
  }

  /** Acquires {@code amount} unless more than {@code upTo} would be in use. */
  public boolean tryTake(long amount, long upTo) {
    while (true) {
      long now = taken.get();
      if (now + amount > upTo) {
        return false;
      }
      if (taken.compareAndSet(now, now + amount)) {
        return true;
      }
    }
  }

  /** Acquires {@code amount} even beyond the limit. A negative amount releases. */
  public void take(long amount) {
    taken.addAndGet(amount);
  }

  public void give(long amount) {
    taken.addAndGet(-amount);
  }

  /** Returns the amount in use. */
  public long inUse() {
    return taken.get();
  }
}
