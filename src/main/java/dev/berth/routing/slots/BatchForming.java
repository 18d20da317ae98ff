package dev.berth.routing.slots;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Forms batches of the waiters of one queue. The runner of the {@link WaiterQueue} uses it, and no
 * other thread except in {@link #onWake}.
 *
 * <p>The oldest waiter of a key and the next ones with this key are granted together: once they
 * fill a batch, once the window of the oldest is over, or at once where an idle replica is eager.
 * The batch goes to one replica. A local replica gives each a seat; a remote one receives them
 * together and puts them into its next batch.
 */
public final class BatchForming {
  private static final long NEVER = Long.MAX_VALUE;

  private final SlotSource source;
  private final Supplier<@Nullable BatchSettings> settings;
  private final LongConsumer wake; // requests a call of onWake after this many nanoseconds
  private final Map<String, KeyLine> lines = new HashMap<>(); // none is empty
  private final List<Waiter> members = new ArrayList<>();
  private @Nullable Waiter passed; // the first of several slots beside or ahead of a member
  private long round = 1;
  private int alone; // linked waiters without a key
  private int stuck; // lines that are stuck
  private long nextWindow = NEVER; // end of the first open window, as of the last look at each
  private volatile long armedNanos = NEVER; // time of the next wake

  /** Linked waiters with one key. */
  private static final class KeyLine {
    int size;
    boolean isStuck; // until the next pump
    long waitingIn; // last round without a due batch
  }

  public BatchForming(
      SlotSource source, Supplier<@Nullable BatchSettings> settings, LongConsumer wake) {
    this.source = source;
    this.settings = settings;
    this.wake = wake;
  }

  // --- the linked waiters ---

  void onLinked(Waiter waiter) {
    if (waiter.batchKey == null) {
      alone++;
    } else {
      lines.computeIfAbsent(waiter.batchKey, key -> new KeyLine()).size++;
    }
  }

  void onUnlinked(Waiter waiter) {
    KeyLine line = waiter.batchKey == null ? null : lines.get(waiter.batchKey);
    if (line == null) {
      alone--;
    } else if (--line.size == 0) {
      stuck -= line.isStuck ? 1 : 0;
      lines.remove(waiter.batchKey);
    }
  }

  /** Returns whether every linked waiter has a key. */
  boolean isAlone() {
    return alone == 0;
  }

  /** Returns whether no linked waiter can be granted before the next pump. */
  boolean isStuck() {
    return alone == 0 && stuck > 0 && stuck == lines.size();
  }

  /** Makes all lines due for a look, since a slot may be free or a batch may have ended. */
  void forgetStuck() {
    if (stuck > 0) {
      lines.values().forEach(line -> line.isStuck = false);
      stuck = 0;
    }
  }

  /** Begins a round, which looks at each line that is not stuck. */
  void begin() {
    round++;
    nextWindow = NEVER;
  }

  // --- batches ---

  /** Returns whether waiters join batches now; otherwise each is granted alone. */
  boolean forms() {
    return settings.get() != null && source.replicas().get().available;
  }

  /**
   * Grants a batch that begins with a waiter, if one is due and a replica can start it.
   *
   * @param closed a replica set aside for a waiter ahead
   * @return whether a waiter was granted
   */
  boolean form(WaiterQueue queue, Waiter head, @Nullable RoutedReplica closed) {
    String key = java.util.Objects.requireNonNull(head.batchKey);
    KeyLine line = lines.get(key);
    BatchSettings rules = settings.get();
    if (line == null || line.isStuck || line.waitingIn == round || rules == null) {
      return false;
    }
    ReplicaSet set = source.replicas().get();
    gather(queue, head, rules.maxSize());
    int size = rules.sizeFor(members.size());
    boolean isDue = members.size() == rules.maxSize() || isDue(set, head, rules);
    if (isDue && offerTo(queue, set, head, size, closed)) {
      return true;
    }
    if (head.owner.hopeless()) {
      queue.give(head, Grant.UNAVAILABLE);
      return true;
    }
    if (!isDue) {
      line.waitingIn = round;
    } else if (!head.owner.picky() && head.cost == 1 && !source.waitersMayLeave()) {
      line.isStuck = true;
      stuck++;
    }
    return false;
  }

  /** Gathers the waiters of a batch, in their order. */
  private void gather(WaiterQueue queue, Waiter head, int max) {
    members.clear();
    passed = null;
    KeyLine line = lines.get(head.batchKey);
    int left = line == null ? 0 : line.size; // none is behind the last one
    for (Waiter each = head; !queue.isEnds(each) && left > 0; each = each.after) {
      boolean isMember = java.util.Objects.equals(each.batchKey, head.batchKey);
      left -= isMember ? 1 : 0;
      if (each.waiting() && !each.owner.paused()) {
        if (isMember) {
          members.add(each);
        } else if (passed == null && each.cost > 1) {
          passed = each;
        }
        if (members.size() == max || each != head && queue.isOverdue(each)) {
          return;
        }
      }
    }
  }

  /** Returns whether a batch with fewer than the maximum is due; otherwise keeps its time. */
  private boolean isDue(ReplicaSet set, Waiter head, BatchSettings rules) {
    String key = java.util.Objects.requireNonNull(head.batchKey);
    long learnt = 0;
    for (RoutedReplica each : set.eligible) {
      BatchSeats seats = seatsOf(each, key);
      if (seats == null) {
        if (each.here() || rules.eager() && each.ongoing() == 0) {
          return true; // the method runs alone there, or the replica is idle
        }
        continue;
      }
      if (rules.eager() && !seats.isBusy()
          || members.size() + seats.loose(key) >= rules.maxSize()) {
        return true;
      }
      learnt = Math.max(learnt, seats.learntNanos());
    }
    long ends = head.owner.sinceNanos() + rules.waitNanos();
    long deadline = head.owner.deadlineNanos();
    if (deadline != NEVER) {
      ends = Math.min(ends, deadline - learnt);
    }
    if (ends - source.now() <= 0) {
      return true;
    }
    nextWindow = Math.min(nextWindow, ends);
    return false;
  }

  /** Returns the batches of a local replica for a key; null if it has none. */
  private static @Nullable BatchSeats seatsOf(RoutedReplica replica, String key) {
    BatchSeats seats = replica.batches();
    return seats != null && replica.batches(BatchSettings.methodOf(key)) ? seats : null;
  }

  /**
   * Grants the gathered waiters at the best replica: one with loose requests of the key, else one
   * with room for all, else the first in the ranker's order.
   */
  private boolean offerTo(
      WaiterQueue queue, ReplicaSet set, Waiter head, int size, @Nullable RoutedReplica closed) {
    String key = java.util.Objects.requireNonNull(head.batchKey);
    List<RoutedReplica> order = order(set, head.owner);
    order.removeIf(each -> each == closed || !head.owner.accepts(each));
    for (RoutedReplica each : order) {
      BatchSeats seats = seatsOf(each, key);
      if (seats != null && seats.loose(key) > 0 && grantAt(queue, each, seats, head, size)) {
        return true;
      }
    }
    for (boolean whole : new boolean[] {true, false}) {
      for (RoutedReplica each : order) {
        boolean fits = each.maxOngoing() - each.ongoing() >= size;
        if (fits == whole && grantAt(queue, each, seatsOf(each, key), head, size)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the eligible replicas in the ranker's order, each once. */
  private List<RoutedReplica> order(ReplicaSet set, WaiterOwner who) {
    Pick.rank(set, who, source.ranking(), source.random());
    List<RoutedReplica> order = new ArrayList<>(set.eligible.length);
    int size = set.eligible.length;
    for (int place = 0; place < source.ranking().size(); place++) {
      int index = source.ranking().get(place);
      if (index >= 0 && index < size && !order.contains(set.eligible[index])) {
        order.add(set.eligible[index]);
      }
    }
    int start = size == 0 ? 0 : source.random().nextInt(size);
    for (int i = 0; i < size; i++) {
      RoutedReplica each = set.eligible[(start + i) % size];
      if (!order.contains(each)) {
        order.add(each);
      }
    }
    return order;
  }

  private boolean grantAt(
      WaiterQueue queue, RoutedReplica to, @Nullable BatchSeats seats, Waiter head, int size) {
    if (seats == null) { // remote, or its method runs alone
      return grantEach(queue, to, null, size);
    }
    if (to.ongoing() >= to.maxOngoing()) {
      return false; // a batch without a seat would start its loose requests early
    }
    String key = java.util.Objects.requireNonNull(head.batchKey);
    BatchGroup group = seats.tryOpen(key, head.owner.sinceNanos());
    if (group == null) {
      return false;
    }
    try {
      return grantEach(queue, to, group, Math.min(size, group.room()));
    } finally {
      group.seal();
    }
  }

  /** Grants slots of a replica to the gathered waiters, one by one. */
  private boolean grantEach(
      WaiterQueue queue, RoutedReplica to, @Nullable BatchGroup group, int size) {
    int granted = 0;
    for (Waiter each : members) {
      if (granted == size || group != null && group.room() == 0) {
        break;
      }
      if (!each.isLinked()) {
        continue;
      }
      Grant grant = Pick.on(to, each.owner);
      if (grant != null) {
        granted++;
        queue.give(each, group == null ? grant : grant.seated(group));
        if (passed != null && passed.sequence < each.sequence) {
          queue.overtake(passed);
        }
      } else if (each.cost == 1 && !each.owner.picky() && each.owner.limit().isEmpty()
          || queue.isOverdue(each)) {
        break; // no slot is left, or it is set aside for this one
      } else if (each.cost > 1 && (passed == null || each.sequence < passed.sequence)) {
        passed = each;
      }
    }
    return granted > 0;
  }

  /** Seats waiters in a batch that a replica opened for loose requests. */
  void fill(WaiterQueue queue, RoutedReplica replica, BatchGroup group) {
    Waiter head = queue.afterEnds();
    Waiter large = null;
    while (!queue.isEnds(head) && !group.key().equals(head.batchKey)) {
      if (queue.isOverdue(head)) {
        return;
      }
      large = large == null && head.cost > 1 ? head : large;
      head = head.after;
    }
    if (!queue.isEnds(head)) {
      gather(queue, head, group.room());
      if (grantEach(queue, replica, group, group.room())) {
        queue.overtake(large);
      }
      forget();
    }
  }

  /** Forgets the requests of the last batch, which an idle queue must not hold. */
  private void forget() {
    members.clear();
    passed = null;
  }

  // --- the timer ---

  /** Requests a look at the end of the first window, unless an earlier one is requested. */
  void arm() {
    forget();
    if (nextWindow < armedNanos) {
      armedNanos = nextWindow;
      wake.accept(Math.max(0, nextWindow - source.now()));
    }
  }

  /** Records that the requested time has come; the caller then pumps. Any thread. */
  public void onWake() {
    armedNanos = NEVER;
  }
}
