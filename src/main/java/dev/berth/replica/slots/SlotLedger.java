package dev.berth.replica.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.view.LedgerView;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe ledger of the slots of one replica incarnation. No method blocks. A slot moves
 *
 * <pre>
 *   FREE --tryAcquire--> RUNNING --complete--> FREE                       ordinary path
 *   FREE --reserve, hold--> RESERVED --consume--> RUNNING --complete--> FREE
 *                           RESERVED --release, or its deadline passes--> FREE
 *   RUNNING --completeAndHold--> RESERVED                                 hand-off
 * </pre>
 *
 * A request of n slots moves all of them in each step.
 *
 * <p><b>State.</b> The counts share one 64-bit word, so that a grant is one CAS, of any n:
 *
 * <pre>
 *   63 ......... 33 | 32    | 31 ...... 16 | 15 ..... 0
 *   stamp (31 bits) | drain | reserved     | running
 * </pre>
 *
 * <p><b>Concurrency.</b> Each change of the word raises the stamp, so a grant that read the word
 * before a change of the maximum or the drain bit fails its CAS. A grant reads the word, then the
 * maximum, then swaps the word; a change stores the maximum first and raises the stamp second. A
 * grant that read the old maximum either precedes the raised stamp, or fails and retries. A refusal
 * rereads the word and is final only if the word did not change. The ledger notifies the observer
 * of a freed slot after the change. This class has over 500 lines because the proof of its CAS
 * orders must be read in one place.
 *
 * <p><b>Leases.</b> A lease is one immutable value in one atomic reference. The thread that wins
 * the CAS that ends the lease, and no other, moves its slots in the word. Between the two CASes the
 * word still counts the slot as reserved: capacity is under-used for an instant, never
 * over-granted.
 *
 * <p><b>Failure.</b> Leases expire and attempts have ids, so neither a dead router nor a lost reply
 * strands a slot. The source, Ray #63252 (semaphore and token), has no deadline and no attempt id.
 */
public final class SlotLedger extends SlotCounters implements Slots {
  private static final long RUNNING_ONE = 1L;
  private static final long RESERVED_ONE = 1L << 16;
  private static final long COUNT_MASK = 0xFFFF;
  private static final long DRAIN_BIT = 1L << 32;
  private static final long STAMP_ONE = 1L << 33;

  private volatile SlotObserver observer = SlotObserver.NONE;
  private volatile boolean keptForLocal; // free slots are for a local waiter
  private volatile boolean keptForRemote; // or, before that, for the offer to a remote router
  private volatile boolean loopBlocked; // the loop that runs the replica's requests
  private volatile long drainDeadlineNanos; // latest end of leases; valid with the drain bit

  private final long epoch;
  private final LedgerLimits limits;
  private final LongSupplier nanoClock;
  private final LongSupplier secrets;
  private final AtomicLong sequences = new AtomicLong();
  private final Set<Lease> live = ConcurrentHashMap.newKeySet(); // leases that have not ended
  final AttemptDeduplicator memory;

  private final LongAdder duplicates = new LongAdder();
  private final LedgerAudit audit = new LedgerAudit();
  private boolean audited; // at least once; confined to the auditing thread

  /**
   * @param epoch number of this incarnation
   * @param maxOngoing maximum number of slots, 0 to 65 535
   * @param nanoClock monotonic nanoseconds
   * @param secrets source of 64 unguessable bits per call
   */
  public SlotLedger(
      long epoch,
      int maxOngoing,
      LedgerLimits limits,
      LongSupplier nanoClock,
      LongSupplier secrets) {
    super(checkedMax(maxOngoing));
    this.epoch = epoch;
    this.limits = limits;
    this.nanoClock = nanoClock;
    this.secrets = secrets;
    this.memory = new AttemptDeduplicator(limits);
  }

  /**
   * Returns an empty ledger of the same incarnation, for requests that take no slot of this one.
   */
  SlotLedger another(int max) {
    return new SlotLedger(epoch, max, limits, nanoClock, secrets);
  }

  /** Returns the limits of this ledger. */
  public LedgerLimits limits() {
    return limits;
  }

  private static int checkedMax(int max) {
    if (max < 0 || max > COUNT_MASK) {
      throw new IllegalArgumentException("maxOngoing: " + max + " (expected: 0 to 65535)");
    }
    return max;
  }

  /** Sets the observer. If grants precede this call, notify the observer of a free slot once. */
  public void observe(SlotObserver observer) {
    this.observer = observer;
  }

  /** Returns the observer of completions and of freed slots. */
  public SlotObserver observer() {
    return observer;
  }

  // --- state ---

  @Override
  public int maxOngoing() {
    return maxOngoing;
  }

  @Override
  public int ongoing() {
    return ongoing(word());
  }

  public int running() {
    return (int) (word() & COUNT_MASK);
  }

  public int reserved() {
    return (int) ((word() >>> 16) & COUNT_MASK);
  }

  @Override
  public boolean draining() {
    return (word() & DRAIN_BIT) != 0;
  }

  @Override
  public long load() {
    long seen = word();
    long load = LoadReport.of(ongoing(seen), maxOngoing, (int) (seen >>> 33));
    return loopBlocked ? LoadReport.blocked(load) : load; // as of the word read above, or newer
  }

  private static int ongoing(long word) {
    return (int) (word & COUNT_MASK) + (int) ((word >>> 16) & COUNT_MASK);
  }

  // --- grants ---

  @Override
  public void keepForLocal(boolean kept) {
    keptForLocal = kept;
  }

  @Override
  public void keepForRemote(boolean kept) {
    if (keptForRemote != kept) {
      keptForRemote = kept;
    }
  }

  /** Returns whether the free slots are for the offer to a remote router. */
  boolean isKeptForRemote() {
    return keptForRemote;
  }

  @Override
  public boolean tryAcquire(int n) {
    return grant(n, RUNNING_ONE) == null;
  }

  @Override
  public @Nullable Refusal tryAcquire(AttemptId attempt, int n) {
    return firstTime(attempt)
        ? recordIfRefused(attempt, keptForLocal ? refusal() : grant(n, RUNNING_ONE))
        : Refusal.REVOKED;
  }

  @Override
  public ReserveResult reserve(AttemptId attempt, int n, long ttlNanos) {
    if (memory.state(attempt) != AttemptState.NEVER) {
      return repeated(attempt);
    }
    boolean kept = keptForRemote ? attempt.router() >= 0 : keptForLocal; // no router is below 0
    Refusal refusal = kept ? refusal() : take(n, RESERVED_ONE);
    if (refusal != null) {
      // else a late duplicate could get a lease
      note(attempt, AttemptState.REFUSED);
      return new ReserveResult.ReserveRefused(refusal);
    }
    Lease lease = holding(attempt, n, ttlNanos);
    if (!memory.note(attempt, lease, nanoClock.getAsLong())) {
      lease.release(); // a duplicate or a release arrived in between
      return repeated(attempt);
    }
    if (lease.over()) { // ended by a sweep that could not record its attempt
      memory.leaseEnded(attempt, nanoClock.getAsLong());
    }
    return new ReserveResult.ReserveGranted(lease);
  }

  @Override
  public @Nullable SlotLease hold(int n, long ttlNanos) {
    return grant(n, RESERVED_ONE) == null ? holding(null, n, ttlNanos) : null;
  }

  private Lease holding(@Nullable AttemptId attempt, int n, long ttlNanos) {
    Lease lease = new Lease(attempt, n, deadline(ttlNanos));
    live.add(lease); // before another thread can see and end it
    return lease;
  }

  private long deadline(long ttlNanos) {
    long now = nanoClock.getAsLong();
    long wanted = Math.min(ttlNanos, limits.maxTtlNanos());
    return now + (draining() ? Math.min(wanted, drainDeadlineNanos - now) : wanted);
  }

  private @Nullable Refusal grant(int n, long one) {
    return keptForRemote ? refusal() : take(n, one);
  }

  private Refusal refusal() {
    return draining() ? Refusal.DRAINING : Refusal.FULL;
  }

  /**
   * Acquires n slots by a CAS that adds {@code one} for each to the word. Returns null or the
   * refusal.
   */
  private @Nullable Refusal take(int n, long one) {
    for (; ; ) {
      long seen = word();
      if ((seen & DRAIN_BIT) != 0) {
        return Refusal.DRAINING;
      }
      if (ongoing(seen) + n > maxOngoing) {
        if (word() == seen) { // else the count and the maximum may be of different times
          return Refusal.FULL;
        }
        continue;
      }
      if (changeWord(seen, seen + n * one + STAMP_ONE)) {
        GRANTED.getAndAdd(this, n);
        return null;
      }
    }
  }

  private AttemptState note(AttemptId attempt, AttemptState becomes) {
    return memory.note(attempt, becomes, nanoClock.getAsLong());
  }

  private boolean firstTime(AttemptId attempt) {
    if (note(attempt, AttemptState.GRANTED) == AttemptState.NEVER) {
      return true;
    }
    duplicates.increment();
    return false;
  }

  private @Nullable Refusal recordIfRefused(AttemptId attempt, @Nullable Refusal refusal) {
    if (refusal != null) {
      memory.markRefused(attempt);
    }
    return refusal;
  }

  private ReserveResult repeated(AttemptId attempt) {
    duplicates.increment();
    Lease lease = memory.lease(attempt);
    if (lease == null) {
      return new ReserveResult.ReserveRefused(Refusal.REVOKED);
    }
    Refusal ended = lease.endReason();
    return ended == null
        ? new ReserveResult.ReserveGranted(lease)
        : new ReserveResult.ReserveRefused(ended);
  }

  // --- ends ---

  @Override
  public void complete(int n) {
    for (; ; ) {
      long seen = requireRunning(n);
      if (changeWord(seen, seen - n * RUNNING_ONE + STAMP_ONE)) {
        COMPLETED.getAndAdd(this, n);
        observer.onSlotFreed(this);
        return;
      }
    }
  }

  @Override
  public @Nullable SlotLease completeAndHold(int done, int next, long ttlNanos) {
    for (; ; ) {
      long seen = requireRunning(done);
      if ((seen & DRAIN_BIT) != 0 || ongoing(seen) - done + next > maxOngoing || keptForRemote) {
        return null;
      }
      if (changeWord(seen, seen - done * RUNNING_ONE + next * RESERVED_ONE + STAMP_ONE)) {
        COMPLETED.getAndAdd(this, done);
        GRANTED.getAndAdd(this, next);
        return holding(null, next, ttlNanos);
      }
    }
  }

  private long requireRunning(int n) {
    long seen = word();
    if ((seen & COUNT_MASK) < n) {
      throw new IllegalStateException(
          "running: " + (seen & COUNT_MASK) + " (expected: a request of " + n + " to complete)");
    }
    return seen;
  }

  @Override
  public @Nullable Refusal consume(SlotToken token, AttemptId attempt, int n) {
    if (!firstTime(attempt)) {
      return Refusal.REVOKED;
    }
    Lease lease = find(token);
    return recordIfRefused(
        attempt, lease == null || lease.cost != n ? unknown(token) : lease.consume());
  }

  @Override
  public boolean release(AttemptId attempt) {
    Lease lease = recall(attempt) == AttemptState.LEASED ? memory.lease(attempt) : null;
    return lease != null && lease.release();
  }

  /** Releases the leases that routers of one incarnation of a lost instance reserved. */
  public void releaseOf(long incarnation) {
    for (Lease lease : live) {
      AttemptId named = lease.attempt;
      if (named != null && named.incarnation() == incarnation) {
        lease.release();
      }
    }
  }

  @Override
  public AttemptState recall(AttemptId attempt) {
    // A lease may outlast the records of its attempt and of the router that made it.
    return memory.lease(attempt) != null
        ? AttemptState.LEASED
        : note(attempt, AttemptState.REVOKED);
  }

  @Override
  public @Nullable Refusal renew(SlotToken token, long ttlNanos) {
    Lease lease = find(token);
    if (lease == null) {
      return unknown(token);
    }
    return lease.renew(ttlNanos) ? null : lease.endReason();
  }

  private Refusal unknown(SlotToken token) {
    return token.epoch() == epoch ? Refusal.UNKNOWN_TOKEN : Refusal.FOREIGN_EPOCH;
  }

  private @Nullable Lease find(SlotToken token) {
    Lease lease = memory.tokens.get(token.sequence());
    return lease != null && lease.token().equals(token) ? lease : null;
  }

  // --- changes by the owner ---

  /**
   * Sets whether load reports mark the loop of the requests as blocked.
   *
   * @return whether the value changed
   */
  public boolean loopBlocked(boolean isBlocked) {
    boolean news = loopBlocked != isBlocked;
    if (news) {
      loopBlocked = isBlocked; // before the stamp that publishes it
      change(seen -> seen + STAMP_ONE);
    }
    return news;
  }

  /** Drains like {@link #drain(long)}, with a deadline that no lease can exceed. */
  public void drain() {
    drain(nanoClock.getAsLong() + limits.maxTtlNanos());
  }

  /**
   * Stops grants. Leases granted before may still be consumed, and renewed up to the drain's
   * deadline.
   *
   * @param deadlineNanos end of the drain on the nano clock
   */
  public void drain(long deadlineNanos) {
    drainDeadlineNanos = deadlineNanos; // before the bit that makes it valid
    change(seen -> (seen | DRAIN_BIT) + STAMP_ONE);
  }

  /**
   * Changes the number of slots live. A lower maximum revokes no slot: ongoing exceeds the maximum
   * until enough requests and leases have ended. A maximum of 0 closes the ledger: it grants
   * nothing until the maximum is raised.
   *
   * @param max slots, 0 to 65 535
   */
  public void setMaxOngoing(int max) {
    int before = changeMax(checkedMax(max)); // before the stamp: see the class comment
    change(seen -> seen + STAMP_ONE);
    boolean kept = keptForRemote;
    keepForRemote(false); // for a waiter that may no longer fit; the observer decides anew
    if (kept || before < max || (before > 0 && max == 0)) { // waiters may leave a closed replica
      observer.onSlotFreed(this);
    }
  }

  private void change(java.util.function.LongUnaryOperator next) {
    for (; ; ) {
      long seen = word();
      if (changeWord(seen, next.applyAsLong(seen))) {
        return;
      }
    }
  }

  /**
   * Expires leases past their deadline and forgets old attempts. Called periodically; only the time
   * at which the slot of a dead owner becomes free depends on the period.
   */
  public void sweep() {
    long now = nanoClock.getAsLong();
    for (Lease lease : live) {
      lease.expireIfPast(now);
    }
    memory.forget(now);
  }

  // --- views for operators ---

  /** Returns the number of attempts that were repeated or arrived after their release. */
  public long duplicates() {
    return duplicates.sum();
  }

  /** Returns the number of attempts retained. */
  public int rememberedAttempts() {
    return memory.attempts();
  }

  /** Returns the number of leases and tokens retained, active ones included. */
  public int rememberedLeases() {
    return memory.leases();
  }

  /** Returns the number of attempts forgotten early, or granted nothing, as memory was full. */
  public long forgottenEarly() {
    return memory.forgottenEarly.sum();
  }

  /** Returns counts, of one moment unless slots move in each try, and the last audit. */
  public LedgerView view(String replicaId, int zombies) {
    for (int tries = 1; ; tries++) {
      long seen = word();
      LedgerView view =
          new LedgerView(
              replicaId,
              epoch,
              maxOngoing,
              (int) (seen & COUNT_MASK),
              (int) ((seen >>> 16) & COUNT_MASK),
              (seen & DRAIN_BIT) != 0,
              granted,
              completed,
              released,
              expired,
              zombies,
              audit.last(nanoClock.getAsLong()));
      if (word() == seen || tries == LedgerAudit.TRIES) {
        return view;
      }
    }
  }

  /** Returns whether {@link #audit} was called. Confined to the auditing thread. */
  public boolean audited() {
    return audited;
  }

  /**
   * Checks {@code granted = completed + released + expired + ongoing} and stores the verdict for
   * the view. The counters are read between two reads of the word and count only if the word did
   * not change. Call from one thread, about once per second.
   */
  public LedgerView.Audit audit() {
    audited = true;
    for (int tries = 1; ; tries++) {
      long seen = word();
      long ended = completed + released + expired;
      long difference = granted - ended - ongoing(seen);
      boolean still = word() == seen;
      if (still || tries == LedgerAudit.TRIES) {
        return audit.judge(
            new LedgerAudit.LedgerReading(seen, difference, still), nanoClock.getAsLong());
      }
    }
  }

  /** A lease of this ledger. The token is made on first use, as most leases need none. */
  final class Lease implements SlotLease {
    private volatile @Nullable AttemptId attempt; // null when no message names the lease
    private final int cost; // number of slots
    private final AtomicReference<LeaseState> state;
    private final AtomicReference<@Nullable SlotToken> token = new AtomicReference<>();

    Lease(@Nullable AttemptId attempt, int cost, long deadlineNanos) {
      this.attempt = attempt;
      this.cost = cost;
      this.state = new AtomicReference<>(new LeaseState.ActiveLease(deadlineNanos));
    }

    @Override
    public SlotToken token() {
      SlotToken made = token.get();
      if (made != null) {
        return made;
      }
      SlotToken fresh = new SlotToken(epoch, sequences.incrementAndGet(), secrets.getAsLong());
      memory.tokens.put(fresh.sequence(), this); // before another thread can send it
      if (!token.compareAndSet(null, fresh)) {
        memory.tokens.remove(fresh.sequence());
        return java.util.Objects.requireNonNull(token.get());
      }
      if (over()) {
        memory.tokenEnded(fresh.sequence(), nanoClock.getAsLong());
      }
      return fresh;
    }

    @Override
    public void name(AttemptId given) {
      attempt = given; // before a lookup can find the lease by it
      long now = nanoClock.getAsLong();
      if (memory.note(given, this, now) && over()) {
        memory.leaseEnded(given, now);
      }
    }

    @Override
    public long deadlineNanos() {
      return state.get() instanceof LeaseState.ActiveLease active
          ? active.deadlineNanos()
          : nanoClock.getAsLong();
    }

    @Override
    public boolean active() {
      return usable() != null;
    }

    private boolean over() {
      return state.get() instanceof LeaseState.EndedLease;
    }

    /** Returns the refusal of an ended or overdue lease; null while the lease is usable. */
    @Nullable Refusal endReason() {
      return usable() == null ? state.get().refusal() : null;
    }

    /**
     * Returns the state of a usable lease; null when the lease has ended. A thread that finds the
     * deadline passed ends the lease, or finds a renewal and retries. So no caller sees an expiry
     * that did not happen.
     */
    private LeaseState.@Nullable ActiveLease usable() {
      for (; ; ) {
        if (!(state.get() instanceof LeaseState.ActiveLease active)) {
          return null;
        }
        if (active.deadlineNanos() - nanoClock.getAsLong() > 0) {
          return active;
        }
        end(active, LeaseState.EndedLease.EXPIRED);
      }
    }

    @Override
    public @Nullable Refusal consume() {
      for (var active = usable(); active != null; active = usable()) {
        if (end(active, LeaseState.EndedLease.CONSUMED)) {
          return null;
        }
      }
      return state.get().refusal();
    }

    @Override
    public boolean release() {
      while (state.get() instanceof LeaseState.ActiveLease active) {
        if (end(active, LeaseState.EndedLease.RELEASED)) {
          return true;
        }
      }
      return false;
    }

    @Override
    public boolean renew(long ttlNanos) {
      for (var active = usable(); active != null; active = usable()) {
        long later = deadline(ttlNanos);
        if (later - active.deadlineNanos() <= 0
            || state.compareAndSet(active, new LeaseState.ActiveLease(later))) {
          return true;
        }
      }
      return false;
    }

    void expireIfPast(long now) {
      if (state.get() instanceof LeaseState.ActiveLease active
          && active.deadlineNanos() - now <= 0) {
        end(active, LeaseState.EndedLease.EXPIRED);
      }
    }

    /** Ends the lease; no other method does. The thread that wins the CAS moves the slot. */
    private boolean end(LeaseState.ActiveLease from, LeaseState.EndedLease how) {
      if (!state.compareAndSet(from, how)) {
        return false;
      }
      live.remove(this);
      long change =
          how == LeaseState.EndedLease.CONSUMED ? RUNNING_ONE - RESERVED_ONE : -RESERVED_ONE;
      change(seen -> seen + cost * change + STAMP_ONE);
      if (how != LeaseState.EndedLease.CONSUMED) {
        (how == LeaseState.EndedLease.EXPIRED ? EXPIRED : RELEASED)
            .getAndAdd(SlotLedger.this, cost);
      }
      long now = nanoClock.getAsLong();
      SlotToken made = token.get();
      if (made != null) {
        memory.tokenEnded(made.sequence(), now);
      }
      AttemptId named = attempt;
      // not a lease that lost the race of reserve
      if (named != null && memory.lease(named) == this) {
        memory.leaseEnded(named, now);
      }
      if (how != LeaseState.EndedLease.CONSUMED) {
        observer.onSlotFreed(SlotLedger.this);
      }
      return true;
    }
  }
}
