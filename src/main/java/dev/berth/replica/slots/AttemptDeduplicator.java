package dev.berth.replica.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.port.AttemptState;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe memory of the attempts and tokens that a ledger received in messages. Lets the ledger
 * recognise duplicates and lets a refusal state its reason.
 *
 * <p>Attempts are retained for a time at any arrival rate ({@link RouterAttempts}). Ended leases
 * and tokens only make refusals more exact, so they are bounded by number and time. An active lease
 * is never forgotten.
 */
final class AttemptDeduplicator {
  /**
   * Maximum of router loops whose attempts are retained. The ledger grants nothing to attempts of
   * further loops.
   */
  static final int MAX_ROUTERS = 4_096;

  private record Router(long incarnation, int loop) {}

  /**
   * An ended lease or token with the time of its removal. Exactly one of {@code attempt} and {@code
   * sequence} is its key.
   */
  private record ExpiringEntry(long forgetAtNanos, @Nullable AttemptId attempt, long sequence) {}

  /** Leases by the sequence number of their token. */
  final ConcurrentHashMap<Long, SlotLedger.Lease> tokens = new ConcurrentHashMap<>();

  /** Number of attempts forgotten early, or granted nothing, because the memory was full. */
  final LongAdder forgottenEarly = new LongAdder();

  private final ConcurrentHashMap<Router, RouterAttempts> routers = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<AttemptId, SlotLedger.Lease> leases = new ConcurrentHashMap<>();
  // allocated array entries for attempts, of all router loops
  private final AtomicInteger places = new AtomicInteger();
  private final ConcurrentLinkedQueue<ExpiringEntry> ended =
      new ConcurrentLinkedQueue<>(); // oldest first
  private final AtomicInteger endedSize = new AtomicInteger();
  private final LedgerLimits limits;

  AttemptDeduplicator(LedgerLimits limits) {
    this.limits = limits;
  }

  // --- attempts ---

  /** Records the state of an attempt unless one is recorded. Returns the state before the call. */
  AttemptState note(AttemptId attempt, AttemptState becomes, long now) {
    Router router = new Router(attempt.incarnation(), attempt.router());
    for (; ; ) {
      RouterAttempts known = routers.get(router);
      if (known == null) {
        if (routers.size() >= MAX_ROUTERS) {
          forgottenEarly.increment();
          return AttemptState.FORGOTTEN;
        }
        known = routers.computeIfAbsent(router, any -> new RouterAttempts(this, now));
      }
      AttemptState before = known.note(attempt.counter(), becomes);
      if (before != null) {
        return before;
      }
      routers.remove(router, known); // idle and retired by another thread, which removes it too
    }
  }

  /** Returns the recorded state of an attempt. A lease may outlast this record. */
  AttemptState state(AttemptId attempt) {
    RouterAttempts known = routers.get(new Router(attempt.incarnation(), attempt.router()));
    return known == null ? AttemptState.NEVER : known.state(attempt.counter());
  }

  /** Changes the recorded state of an attempt from GRANTED to REFUSED. */
  void markRefused(AttemptId attempt) {
    RouterAttempts known = routers.get(new Router(attempt.incarnation(), attempt.router()));
    if (known != null) {
      known.markRefused(attempt.counter());
    }
  }

  /** Returns whether the maximum of entries permits {@code more} further entries. */
  boolean hasRoom(int more) {
    return places.get() + more <= limits.attemptsMax();
  }

  /** Adds {@code more}, which may be negative, to the number of allocated entries. */
  void resized(int more) {
    places.addAndGet(more);
  }

  // --- leases and tokens ---

  /**
   * Records the lease of an attempt unless the attempt is known.
   *
   * @return whether the lease is recorded
   */
  boolean note(AttemptId attempt, SlotLedger.Lease lease, long now) {
    if (leases.putIfAbsent(attempt, lease) != null) {
      return false;
    }
    if (note(attempt, AttemptState.LEASED, now) == AttemptState.NEVER) {
      return true;
    }
    leases.remove(attempt);
    return false;
  }

  /**
   * Returns the lease of an attempt while the lease is active, and until it is forgotten after its
   * end.
   */
  SlotLedger.@Nullable Lease lease(AttemptId attempt) {
    return leases.get(attempt);
  }

  /** Starts the retention time of a lease that ended. */
  void leaseEnded(AttemptId attempt, long now) {
    remember(new ExpiringEntry(now + limits.rememberNanos(), attempt, 0));
  }

  /** Starts the retention time of a token whose lease ended. */
  void tokenEnded(long sequence, long now) {
    remember(new ExpiringEntry(now + limits.rememberNanos(), null, sequence));
  }

  private void remember(ExpiringEntry entry) {
    ended.add(entry);
    if (endedSize.incrementAndGet() > limits.rememberedMax()) {
      forgetOldest();
    }
  }

  private void forgetOldest() {
    ExpiringEntry oldest = ended.poll();
    if (oldest == null) {
      return;
    }
    endedSize.decrementAndGet();
    if (oldest.attempt != null) {
      leases.remove(oldest.attempt);
    } else {
      tokens.remove(oldest.sequence);
    }
  }

  // --- removal of old entries ---

  /** Removes the leases, tokens and attempts whose retention time has passed. */
  void forget(long now) {
    for (ExpiringEntry oldest = ended.peek();
        oldest != null && oldest.forgetAtNanos - now <= 0;
        oldest = ended.peek()) {
      forgetOldest();
    }
    routers
        .values()
        .removeIf(router -> router.turn(now, limits.attemptNanos(), limits.rememberNanos()));
  }

  /** Returns the number of attempts retained. */
  int attempts() {
    return routers.values().stream().mapToInt(RouterAttempts::size).sum();
  }

  /** Returns the number of leases and tokens retained, active ones included. */
  int leases() {
    return leases.size() + tokens.size();
  }
}
