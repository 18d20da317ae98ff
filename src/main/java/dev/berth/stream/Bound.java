package dev.berth.stream;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much of something is taken, and how much of it may be. No two share the last of it, and who
 * does not get it is in nobody's way. Whoever takes it owes one {@link #give}. Any thread.
 */
public final class Bound {
  private final long most;
  private final AtomicLong taken = new AtomicLong();

  /**
   * @param most in the unit of its owner, bytes say
   */
  public Bound(long most) {
    this.most = most;
  }

  /** Takes so much if it is there. */
  public boolean tryTake(long amount) {
    return tryTake(amount, most);
  }

  /** Takes so much if no more than {@code upTo} is taken then. */
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

  /** Takes so much whatever the bound is; less than 0 gives it. */
  public void take(long amount) {
    taken.addAndGet(amount);
  }

  public void give(long amount) {
    taken.addAndGet(-amount);
  }

  /** What is taken now. */
  public long taken() {
    return taken.get();
  }

  public long most() {
    return most;
  }
}
