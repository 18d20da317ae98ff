package dev.berth.replica.slots;

import dev.berth.protocol.AttemptId;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What a ledger remembers of attempts and tokens that came over the wire, so that a repeat is
 * recognised and a refusal can say why. Bounded in number and time; the oldest is forgotten first.
 * A lease that is still active is never forgotten. Any thread.
 */
final class AttemptMemory {

  /** What is known of an attempt: its lease, or one of the marks. */
  sealed interface Trace permits Mark, SlotLedger.Lease {}

  enum Mark implements Trace {
    /** A request with this attempt was answered or is running. */
    SEEN,
    /** The attempt was released before it arrived. */
    REVOKED
  }

  /** Something to forget at a time. Exactly one of attempt and sequence names it. */
  private record Ended(long forgetAtNanos, @Nullable AttemptId attempt, long sequence) {}

  /** What there is by attempt; whoever finds none there may put its own. */
  final ConcurrentHashMap<AttemptId, Trace> attempts = new ConcurrentHashMap<>();

  /** By the sequence of their tokens. */
  final ConcurrentHashMap<Long, SlotLedger.Lease> tokens = new ConcurrentHashMap<>();

  private final ConcurrentLinkedQueue<Ended> ended = new ConcurrentLinkedQueue<>(); // oldest first
  private final AtomicInteger endedSize = new AtomicInteger();
  private final LedgerLimits limits;

  AttemptMemory(LedgerLimits limits) {
    this.limits = limits;
  }

  /** The attempt is over: remember it for a while from now. */
  void attemptEnded(AttemptId attempt, long now) {
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

  /** Forgets what is old enough. */
  void forget(long now) {
    for (Ended oldest = ended.peek();
        oldest != null && oldest.forgetAtNanos - now <= 0;
        oldest = ended.peek()) {
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
      attempts.remove(oldest.attempt);
    } else {
      tokens.remove(oldest.sequence);
    }
  }

  /** Attempts and tokens remembered, active leases included. */
  int size() {
    return attempts.size() + tokens.size();
  }
}
