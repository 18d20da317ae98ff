package dev.berth.routing.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Load;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.SlotToken;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A replica of another instance with an estimated load. The estimate is the last report, less this
 * instance's requests at that time, plus its requests now. Every reply carries a numbered report,
 * so a late report never replaces a newer one. The estimate only ranks; the replica itself accepts
 * or refuses. Thread-safe.
 *
 * <p>Source: Ray Serve's ReplicaQueueLengthCache, with sequence numbers and own counts; its
 * back-off constants serve as the safety net, with jitter.
 */
public final class RemoteReplica extends RoutedReplica {
  /** Maximum age of a usable report, in nanoseconds (Ray: 10 s). */
  static final long STALE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /**
   * Ray's initial_backoff_s, backoff_multiplier and max_backoff_s, in nanoseconds; the multiplier
   * is 2.
   */
  static final long INITIAL_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  static final long MAX_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Maximum offers retained for waiters; further ones are declined. */
  private static final int MAX_OFFERS = 64;

  record Report(long load, int ownThen, long atNanos) {}

  /**
   * A slot that the replica holds for this router, under a lease with an attempt id of the
   * replica's.
   */
  public record Offer(AttemptId attempt, SlotToken token, long untilNanos) {}

  private final Grant room = Grant.run(this); // for a slot estimated to be free
  private final LongSupplier nanoClock;
  private final Consumer<AttemptId> declined; // sends the release
  private final Runnable loopChanged; // runs when the replica's loop blocks or recovers
  private final String busAddress;
  final AtomicInteger own = new AtomicInteger(); // our requests there: sent or reserved, not ended
  final AtomicReference<@Nullable Report> report = new AtomicReference<>();
  private final ConcurrentLinkedQueue<Offer> offers = new ConcurrentLinkedQueue<>();
  private long newestOffer; // highest offer number; guarded by this
  private long offersSeen; // one bit per number of the last 64, lowest bit newest
  private final AtomicInteger offersSize = new AtomicInteger();
  private final AtomicBoolean probe = new AtomicBoolean(); // one request despite the estimate
  private volatile boolean silent; // owes a reply: no new request until a report or a probe
  private volatile long nextProbeNanos;
  private volatile long backoffNanos = INITIAL_BACKOFF_NANOS;

  public RemoteReplica(
      ReplicaInfo info,
      boolean routable,
      LongSupplier nanoClock,
      Consumer<AttemptId> declined,
      Runnable loopChanged) {
    super(info, routable);
    this.loopChanged = loopChanged;
    this.nanoClock = nanoClock;
    this.declined = declined;
    this.busAddress = info.address().busAddress();
    this.nextProbeNanos = nanoClock.getAsLong();
  }

  @Override
  public int ongoing() {
    int ours = own.get();
    Report last = fresh();
    return last == null ? ours : Math.max(0, Load.ongoing(last.load) - last.ownThen) + ours;
  }

  /** Returns the last report; null if there is none, or if it is stale. */
  private @Nullable Report fresh() {
    Report last = report.get();
    return last == null || nanoClock.getAsLong() - last.atNanos > STALE_NANOS ? null : last;
  }

  @Override
  public int maxOngoing() {
    Report last = report.get();
    return last == null ? info.maxOngoing() : Load.max(last.load);
  }

  /** Returns a grant for an offered slot or an estimated one; the replica may refuse the latter. */
  @Override
  @Nullable Grant take(long holdNanos) {
    Offer offer = takeOffer();
    if (offer == null
        && (silent || ongoing() >= maxOngoing())
        && !probe.compareAndSet(true, false)) {
      return null;
    }
    own.incrementAndGet();
    return offer == null ? room : new Grant(this, null, offer);
  }

  @Override
  public long reportAgeNanos() {
    Report last = report.get();
    return last == null ? -1 : Math.max(0, nanoClock.getAsLong() - last.atNanos);
  }

  @Override
  public void giveBack() {
    own.decrementAndGet();
  }

  @Override
  public void takeOver() {
    own.incrementAndGet();
  }

  @Override
  public boolean reported(long load) {
    if (load == Load.NONE) {
      return false;
    }
    silent = false;
    for (; ; ) {
      Report last = report.get();
      Report fresh = fresh(); // null if stale: its sequence may have wrapped since
      if (fresh != null && Load.isNewer(fresh.load, load)) {
        return false; // an equal report counts: at its time fewer of ours were in flight
      }
      if (report.compareAndSet(last, new Report(load, own.get(), nanoClock.getAsLong()))) {
        if (Load.isBlocked(load) != (last != null && Load.isBlocked(last.load))) {
          loopChanged.run();
        }
        boolean room = Load.ongoing(load) < Load.max(load);
        if (room) {
          backoffNanos = INITIAL_BACKOFF_NANOS;
        }
        return room;
      }
    }
  }

  @Override
  public void unanswered() {
    silent = true;
  }

  @Override
  public boolean probeIfDue(long now, RandomGenerator random) {
    if (nextProbeNanos - now > 0 || !routable()) {
      return false;
    }
    long backoff = backoffNanos;
    nextProbeNanos = now + backoff / 2 + random.nextLong(backoff); // mean 1, spread ±50 %
    backoffNanos = Math.min(2 * backoff, MAX_BACKOFF_NANOS);
    probe.set(true);
    return true;
  }

  /** Retains an offered slot for the next waiter; declines it beyond {@link #MAX_OFFERS}. */
  public void offered(Offer offer) {
    if (offersSize.incrementAndGet() > MAX_OFFERS) {
      offersSize.decrementAndGet();
      decline(offer);
      return;
    }
    offers.add(offer);
  }

  /**
   * Returns whether an offer's number is new. Offers go to different loops and overtake one
   * another, so a window of 64 numbers is stored. A number older than the window counts as known,
   * and its lease expires.
   *
   * <p>Source: the anti-replay window of RFC 4303, section 3.4.3.
   */
  public synchronized boolean isNewOffer(long number) {
    long ahead = number - newestOffer;
    if (ahead > 0) {
      offersSeen = ahead >= Long.SIZE ? 1 : offersSeen << ahead | 1;
      newestOffer = number;
      return true;
    }
    if (ahead <= -Long.SIZE || (offersSeen >>> -ahead & 1) != 0) {
      return false;
    }
    offersSeen |= 1L << -ahead;
    return true;
  }

  /** Removes and returns an offer that has not expired; null if there is none. */
  private @Nullable Offer takeOffer() {
    long now = nanoClock.getAsLong();
    for (Offer offer = offers.poll(); offer != null; offer = offers.poll()) {
      offersSize.decrementAndGet();
      if (offer.untilNanos - now > 0) {
        return offer;
      }
    }
    return null;
  }

  /** Declines all offers that no waiter used. */
  public void declineOffers() {
    for (Offer offer = offers.poll(); offer != null; offer = offers.poll()) {
      offersSize.decrementAndGet();
      decline(offer);
    }
  }

  @Override
  public void decline(Offer offer) {
    declined.accept(offer.attempt);
  }

  @Override
  public void leave() {
    super.leave();
    declineOffers();
  }

  /**
   * Returns whether the last report, unless stale, names a blocked loop, or the instance is
   * suspected.
   */
  @Override
  public boolean isOn(BlockedLoops blocked) {
    Report last = fresh();
    return last != null && Load.isBlocked(last.load) || blocked.suspects(info.address().node());
  }

  @Override
  public ReplicaAddress addressFor(int loop) {
    return info.address();
  }

  @Override
  public String busAddressFor(int loop) {
    return busAddress;
  }
}
