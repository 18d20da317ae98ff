package dev.berth.routing.slots;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
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
 * A replica of another instance with an estimated load. The estimate is the load of the last
 * report, minus this instance's requests at the time of the report, plus this instance's requests
 * now. Every reply of the replica carries a numbered report, so a late report never replaces a
 * newer one. The estimate decides where a request goes; the replica itself accepts or refuses the
 * request. Thread-safe.
 *
 * <p>The design follows Ray Serve's ReplicaQueueLengthCache, and adds sequence numbers and counts
 * of own requests. If the estimate is wrong, probes with Ray's back-off and with jitter correct it.
 */
public final class RemoteReplica extends RoutedReplica {
  /** Maximum age of a usable report, in nanoseconds (Ray: 10 s). */
  static final long STALE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /**
   * First back-off between probes: Ray's initial_backoff_s. Each probe doubles the back-off (Ray's
   * backoff_multiplier) up to {@link #MAX_BACKOFF_NANOS} (Ray's max_backoff_s).
   */
  static final long INITIAL_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  static final long MAX_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Maximum offers that this router keeps for waiters. It declines further offers. */
  private static final int MAX_OFFERS = 64;

  record ReceivedLoadReport(long load, int ownThen, long atNanos) {}

  /**
   * Slots that the replica holds for this router under a lease. The replica made the attempt id.
   */
  public record Offer(AttemptId attempt, SlotToken token, int cost, long untilNanos) {}

  private final Grant room = Grant.run(this); // for a slot estimated to be free
  private final LongSupplier nanoClock;
  private final Consumer<AttemptId> declined; // sends the release
  private final Runnable loopChanged; // runs when the replica's loop blocks or recovers
  private final String busAddress;
  final AtomicInteger own = new AtomicInteger(); // slots of this instance's requests
  final AtomicReference<@Nullable ReceivedLoadReport> report = new AtomicReference<>();
  private final ConcurrentLinkedQueue<Offer> offers = new ConcurrentLinkedQueue<>();
  private long newestOffer; // highest offer number; guarded by this object's lock
  private long offersSeen; // one bit for each of the last 64 numbers; lowest bit: newest
  private final AtomicInteger offersSize = new AtomicInteger();
  private final AtomicBoolean probe = new AtomicBoolean(); // one request despite the estimate
  private volatile boolean silent; // a reply is missing: no request until a report or a probe
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
    ReceivedLoadReport last = fresh();
    return last == null ? ours : Math.max(0, LoadReport.ongoing(last.load) - last.ownThen) + ours;
  }

  /** Returns the last report; null if there is none, or if it is stale. */
  private @Nullable ReceivedLoadReport fresh() {
    ReceivedLoadReport last = report.get();
    return last == null || nanoClock.getAsLong() - last.atNanos > STALE_NANOS ? null : last;
  }

  @Override
  public int maxOngoing() {
    ReceivedLoadReport last = report.get();
    return last == null ? info.maxOngoing() : LoadReport.max(last.load);
  }

  /** Returns offered slots, or an estimate of free slots; the replica may refuse an estimate. */
  @Override
  @Nullable Grant take(long holdNanos, int cost) {
    Offer offer = takeOffer(cost);
    if (offer == null
        && (silent || ongoing() + cost > maxOngoing())
        && !probe.compareAndSet(true, false)) {
      return null;
    }
    own.addAndGet(cost);
    return offer == null ? room : new Grant(this, null, offer);
  }

  @Override
  public long reportAgeNanos() {
    ReceivedLoadReport last = report.get();
    return last == null ? -1 : Math.max(0, nanoClock.getAsLong() - last.atNanos);
  }

  @Override
  public void giveBack(int cost) {
    own.addAndGet(-cost);
  }

  @Override
  public void takeOver(int cost) {
    own.addAndGet(cost);
  }

  @Override
  public boolean recordLoadReport(long load) {
    if (load == LoadReport.NONE) {
      return false;
    }
    silent = false;
    for (; ; ) {
      ReceivedLoadReport last = report.get();
      ReceivedLoadReport fresh = fresh(); // null if stale: the sequence may have wrapped since then
      if (fresh != null && LoadReport.isNewer(fresh.load, load)) {
        return false; // an equal number counts: fewer own requests were in flight at its time
      }
      if (report.compareAndSet(
          last, new ReceivedLoadReport(load, own.get(), nanoClock.getAsLong()))) {
        if (LoadReport.isBlocked(load) != (last != null && LoadReport.isBlocked(last.load))) {
          loopChanged.run();
        }
        boolean room = LoadReport.ongoing(load) < LoadReport.max(load);
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

  /** Keeps an offered slot for the next waiter, or declines it beyond {@link #MAX_OFFERS}. */
  public void offered(Offer offer) {
    if (offersSize.incrementAndGet() > MAX_OFFERS) {
      offersSize.decrementAndGet();
      decline(offer);
      return;
    }
    offers.add(offer);
  }

  /**
   * Returns whether an offer's number is new. Offers arrive on different loops and overtake one
   * another, so the replica's last 64 numbers are stored as a window. A number older than the
   * window counts as known, and the lease of its offer expires unused.
   *
   * <p>The design follows the anti-replay window of RFC 4303, section 3.4.3.
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

  /** Removes and returns an offer of as many slots that has not expired; null if there is none. */
  private @Nullable Offer takeOffer(int cost) {
    long now = nanoClock.getAsLong();
    for (Offer offer : offers) {
      boolean expired = offer.untilNanos - now <= 0;
      if ((expired || offer.cost == cost) && offers.remove(offer)) {
        offersSize.decrementAndGet();
        if (!expired) {
          return offer;
        }
      }
    }
    return null;
  }

  @Override
  boolean isOffered(int from, int to) {
    return offers.stream().anyMatch(offer -> offer.cost >= from && offer.cost <= to);
  }

  @Override
  public void declineOffers() {
    for (Offer offer = offers.poll(); offer != null; offer = offers.poll()) {
      offersSize.decrementAndGet();
      decline(offer);
    }
  }

  @Override
  public void decline(Offer offer) {
    declined.accept(offer.attempt);
    backoffNanos = INITIAL_BACKOFF_NANOS; // the replica stops its offers to this router
    nextProbeNanos = nanoClock.getAsLong();
  }

  @Override
  public void leave() {
    super.leave();
    declineOffers();
  }

  /**
   * Returns whether the last report shows a blocked loop, or the replica's instance is suspected. A
   * stale report does not count.
   */
  @Override
  public boolean isOn(RoutingExclusions blocked) {
    ReceivedLoadReport last = fresh();
    return last != null && LoadReport.isBlocked(last.load)
        || blocked.suspects(info.address().node());
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
