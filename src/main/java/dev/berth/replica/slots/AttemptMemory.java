package dev.berth.replica.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.port.AttemptState;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What a ledger remembers of attempts and tokens that came over the wire, so that a repeat is
 * recognised and a refusal can say why. Attempts are remembered by time, at whatever rate they come
 * ({@link RouterAttempts}); leases and tokens that are over, which only make refusals clearer, by
 * number and time. A lease that is still active is never forgotten. Any thread.
 */
final class AttemptMemory {
  /** Router loops whose attempts are remembered; those of more are granted nothing. */
  static final int MAX_ROUTERS = 4_096;

  private record Router(long incarnation, int loop) {}

  /** Something to forget at a time. Exactly one of attempt and sequence names it. */
  private record Ended(long forgetAtNanos, @Nullable AttemptId attempt, long sequence) {}

  /** By the sequence of their tokens. */
  final ConcurrentHashMap<Long, SlotLedger.Lease> tokens = new ConcurrentHashMap<>();

  /** Attempts forgotten, or granted nothing, since there was no room to remember them. */
  final LongAdder forgottenEarly = new LongAdder();

  private final ConcurrentHashMap<Router, RouterAttempts> routers = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<AttemptId, SlotLedger.Lease> leases = new ConcurrentHashMap<>();
  private final AtomicInteger places = new AtomicInteger(); // for attempts, of all routers
  private final ConcurrentLinkedQueue<Ended> ended = new ConcurrentLinkedQueue<>(); // oldest first
  private final AtomicInteger endedSize = new AtomicInteger();
  private final LedgerLimits limits;

  AttemptMemory(LedgerLimits limits) {
    this.limits = limits;
  }

  // --- attempts ---

  /** Notes what becomes of an attempt unless it is known; what was known of it. */
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
      routers.remove(router, known); // as who forgets it is about to
    }
  }

  /** What is known of an attempt; a lease may outlast it. */
  AttemptState state(AttemptId attempt) {
    RouterAttempts known = routers.get(new Router(attempt.incarnation(), attempt.router()));
    return known == null ? AttemptState.NEVER : known.state(attempt.counter());
  }

  /** One that was noted as granted was refused after all. */
  void refused(AttemptId attempt) {
    RouterAttempts known = routers.get(new Router(attempt.incarnation(), attempt.router()));
    if (known != null) {
      known.refused(attempt.counter());
    }
  }

  /** Whether a router may have so many places more. */
  boolean hasRoom(int more) {
    return places.get() + more <= limits.attemptsMax();
  }

  void resized(int more) {
    places.addAndGet(more);
  }

  // --- leases and tokens ---

  /**
   * Notes the lease of an attempt unless that is known.
   *
   * @return whether it is now noted
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

  /** The lease of an attempt, while it is active and for a while after. */
  SlotLedger.@Nullable Lease lease(AttemptId attempt) {
    return leases.get(attempt);
  }

  /** The lease is over: remember it for a while from now. */
  void leaseEnded(AttemptId attempt, long now) {
    remember(new Ended(now + limits.rememberNanos(), attempt, 0));
  }

  /** The token is over: remember it for a while from now. */
  void tokenEnded(long sequence, long now) {
    remember(new Ended(now + limits.rememberNanos(), null, sequence));
  }

  private void remember(Ended entry) {
    ended.add(entry);
    if (endedSize.incrementAndGet() > limits.rememberedMax()) {
      forgetOldest();
    }
  }

  private void forgetOldest() {
    Ended oldest = ended.poll();
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

  // --- what is old ---

  /** Forgets it. */
  void forget(long now) {
    for (Ended oldest = ended.peek();
        oldest != null && oldest.forgetAtNanos - now <= 0;
        oldest = ended.peek()) {
      forgetOldest();
    }
    routers
        .values()
        .removeIf(router -> router.turn(now, limits.attemptNanos(), limits.rememberNanos()));
  }

  /** Attempts remembered. */
  int attempts() {
    return routers.values().stream().mapToInt(RouterAttempts::size).sum();
  }

  /** Leases and tokens remembered, those of active ones included. */
  int leases() {
    return leases.size() + tokens.size();
  }
}
