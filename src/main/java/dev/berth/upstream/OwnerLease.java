package dev.berth.upstream;

import java.util.function.LongSupplier;

/**
 * Limit of the time that a node may use its shares of upstreams without its controller. Times are
 * nanoseconds on the node's clock. Thread-safe.
 *
 * <p>The lease ends once its length has passed since the last renewal. A renewal counts from the
 * time of the node's own message that the controller has received, and never from the reply. An
 * ended lease stays ended until {@link #restart}, whatever arrives meanwhile.
 */
public final class OwnerLease {
  private final LongSupplier nanoClock;
  private volatile long renewedNanos;
  private volatile long leaseNanos; // 0: none
  private volatile boolean ended;

  public OwnerLease(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.renewedNanos = nanoClock.getAsLong();
  }

  /** Renews the lease as of the time at which a message was sent. */
  public synchronized void renew(long sentNanos) {
    ended = hasEnded();
    if (sentNanos - renewedNanos > 0) {
      renewedNanos = sentNanos;
    }
  }

  /** Sets the length of the lease; 0 for none. */
  public synchronized void limit(long nanos) {
    leaseNanos = nanos;
  }

  /** Begins again after the end of the lease, when no use of the old shares is left. */
  public synchronized void restart(long nanos) {
    leaseNanos = nanos;
    ended = false;
  }

  /** Returns whether no request may start at an upstream. */
  public boolean hasEnded() {
    return remainingNanos() < 0 || ended; // in this order: renew writes the bit first
  }

  /** Returns the time until the lease ends; {@code Long.MAX_VALUE} without a lease. */
  public long remainingNanos() {
    long lease = leaseNanos;
    return lease == 0 ? Long.MAX_VALUE : lease - (nanoClock.getAsLong() - renewedNanos);
  }
}
