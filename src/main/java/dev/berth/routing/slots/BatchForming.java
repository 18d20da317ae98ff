package dev.berth.routing.slots;

import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Former of batches for the waiters of one queue. Only the runner of the {@link WaiterQueue} uses
 * it, except {@link #onWake}.
 *
 * <p>The oldest waiter of a key and the next ones with this key are granted together: once they
 * fill a batch, once the window of the oldest has closed, or at once where an idle replica is
 * eager. The batch goes to one replica. A local replica gives each a seat. Its rules are those at
 * the time when its oldest waiter joined the queue.
 *
 * <p>Without a local replica, each waiter is granted at once, and one remote replica receives those
 * of one window. The window passes there, so that waiters of several instances share a batch.
 */
public final class BatchForming {
  private static final long NEVER = Long.MAX_VALUE;
  private static final int NONE = Integer.MAX_VALUE;

  /** Maximum of open windows at other instances: clients choose the values of a key. */
  static final int MAX_TARGETS = 1_024;

  private final SlotSource source;
  private final Supplier<@Nullable BatchSettings> settings;
  private final LongConsumer wake; // requests a call of onWake after this many nanoseconds
  private final Map<String, KeyLine> lines = new HashMap<>(); // none is empty
  final Map<String, WindowTarget> targets = new LinkedHashMap<>(); // by key, oldest first
  private final TreeMap<Long, Waiter> large = new TreeMap<>(); // linked, of several slots
  private final TreeSet<Long> late = new TreeSet<>(); // large waiters that are late in this round
  private final List<Waiter> members = new ArrayList<>();
  private @Nullable Waiter passed; // the first of several slots that is no member
  private int alone; // linked waiters without a key
  private int stuck; // lines that are stuck
  private String full = "\n"; // method that no replica can start; valid until the next pump
  private int waits; // lines that wait for their window
  private long nextWindow = NEVER; // end of the first open window, as of the last look at each
  private volatile long armedNanos = NEVER; // time of the next wake

  /** Linked waiters with one key. */
  static final class KeyLine {
    private final String key;
    private final String method;
    final TreeMap<Long, Waiter> waiters = new TreeMap<>(); // by sequence
    private int unfit = NONE; // no replica has as many free slots; valid until the next pump
    private boolean isStuck; // each waiter needs as many; valid as long
    private boolean isWaiting; // no batch was due in this round

    private KeyLine(String key) {
      this.key = key;
      this.method = BatchSettings.methodOf(key);
    }
  }

  /** A remote replica that receives the waiters of one window. */
  private static final class WindowTarget {
    final RoutedReplica replica;
    final long untilNanos;
    int left; // waiters that it may receive yet

    WindowTarget(RoutedReplica replica, long untilNanos, int left) {
      this.replica = replica;
      this.untilNanos = untilNanos;
      this.left = left;
    }

    boolean isOpen(long now) {
      return untilNanos - now > 0 && left > 0;
    }
  }

  public BatchForming(
      SlotSource source, Supplier<@Nullable BatchSettings> settings, LongConsumer wake) {
    this.source = source;
    this.settings = settings;
    this.wake = wake;
  }

  // --- the linked waiters ---

  void onLinked(Waiter waiter) {
    if (waiter.cost > 1) {
      large.put(waiter.sequence, waiter);
    }
    if (waiter.batchKey == null) {
      alone++;
      return;
    }
    KeyLine line = lines.computeIfAbsent(waiter.batchKey, KeyLine::new);
    waiter.line = line;
    waiter.rules = settings.get();
    line.waiters.put(waiter.sequence, waiter);
    waits -= line.isWaiting ? 1 : 0;
    line.isWaiting = false; // it may be full now
    if (line.isStuck && waiter.cost < line.unfit) {
      line.isStuck = false;
      stuck--;
    }
  }

  void onUnlinked(Waiter waiter) {
    if (waiter.cost > 1 && large.remove(waiter.sequence, waiter)) {
      late.remove(waiter.sequence);
    }
    KeyLine line = waiter.line;
    if (line == null) {
      alone--;
    } else if (line.waiters.remove(waiter.sequence, waiter) && line.waiters.isEmpty()) {
      stuck -= line.isStuck ? 1 : 0;
      waits -= line.isWaiting ? 1 : 0;
      lines.remove(line.key);
    }
  }

  /** Returns whether every linked waiter has a key. */
  boolean isAlone() {
    return alone == 0;
  }

  /** Returns whether no linked waiter can be granted before the next pump or the next window. */
  boolean isSettled() {
    return alone == 0 && stuck + waits == lines.size();
  }

  /** Makes all lines due for a look, since a slot may be free or a batch may have ended. */
  void forgetStuck() {
    if (lines.isEmpty()) { // as in each queue without batches; saves an iterator
      nextWindow = NEVER;
      full = "\n";
      return;
    }
    for (KeyLine line : lines.values()) {
      line.unfit = NONE;
      line.isStuck = false;
      line.isWaiting = false;
    }
    stuck = 0;
    waits = 0;
    nextWindow = NEVER;
    full = "\n";
  }

  /** Begins a round, which looks at each line that is not stuck and that has changed. */
  void begin(WaiterQueue queue) {
    lookForLate(queue);
    if (nextWindow != NEVER && nextWindow - source.now() <= 0) {
      lines.values().forEach(line -> line.isWaiting = false);
      waits = 0;
      nextWindow = NEVER;
    }
  }

  private void lookForLate(WaiterQueue queue) {
    late.clear();
    if (!lines.isEmpty()) {
      large.forEach(
          (sequence, each) -> {
            if (queue.isLate(each) && isTaker(each)) {
              late.add(sequence);
            }
          });
    }
  }

  /**
   * Ends a round.
   *
   * @param all whether it looked at every waiter
   */
  void end(boolean all) {
    forget();
    if (all && !lines.isEmpty()) {
      lines.values().forEach(this::stick);
    }
    if (nextWindow < armedNanos) { // else an earlier look is requested
      armedNanos = nextWindow;
      wake.accept(Math.max(0, nextWindow - source.now()));
    }
  }

  private void stick(KeyLine line) {
    if (line.unfit != NONE && !line.isStuck && !line.isWaiting) {
      line.isStuck = true;
      stuck++;
    }
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
    KeyLine line = head.line;
    BatchSettings rules = head.rules == null ? settings.get() : head.rules;
    if (line == null || line.isWaiting || head.cost >= line.unfit || rules == null) {
      return false;
    }
    if (line.method.equals(full) && !head.owner.hopeless()) {
      line.unfit = 1;
      stick(line);
      return false;
    }
    ReplicaSet set = source.replicas().get();
    gather(head, line, rules.maxSize());
    boolean isDue = members.size() == rules.maxSize() || isDue(set, head, line.key, rules);
    int size = rules.sizeFor(members.size());
    if (isDue && offerTo(queue, set, head, rules, size, closed)) {
      return true;
    }
    if (head.owner.hopeless()) {
      queue.give(head, Grant.UNAVAILABLE);
      return true;
    }
    if (!isDue) {
      line.isWaiting = true;
      waits++;
    } else if (!head.owner.picky() && !source.waitersMayLeave()) { // else others may get one
      for (Waiter each : members) {
        if (!each.owner.picky() && each.owner.limit().isEmpty()) {
          line.unfit = Math.min(line.unfit, each.cost);
        }
      }
      if (line.unfit == 1) {
        full = head.cost == 1 && closed == null ? line.method : full;
        stick(line);
      }
    }
    return false;
  }

  /** Gathers the waiters of a batch, in their order. */
  private void gather(Waiter head, KeyLine line, int max) {
    forget();
    Long last = late.higher(head.sequence); // no younger one overtakes it
    for (Waiter each : line.waiters.tailMap(head.sequence).values()) {
      if (members.size() == max || last != null && each.sequence > last) {
        break;
      }
      if (isTaker(each) && each.cost < line.unfit) {
        members.add(each);
      }
    }
    if (large.isEmpty() || members.isEmpty()) {
      return;
    }
    for (Waiter each :
        large.subMap(head.sequence, members.get(members.size() - 1).sequence).values()) {
      if (isTaker(each) && (each.line != line || each.cost >= line.unfit)) {
        passed = each;
        return;
      }
    }
  }

  private static boolean isTaker(Waiter waiter) {
    return waiter.waiting() && !waiter.owner.paused();
  }

  /** Returns whether a batch with fewer than the maximum is due; otherwise keeps its time. */
  private boolean isDue(ReplicaSet set, Waiter head, String key, BatchSettings rules) {
    long learnt = 0;
    boolean passesHere = false;
    for (RoutedReplica each : set.eligible) {
      BatchSeats seats = seatsOf(each, key);
      if (seats == null) {
        if (each.here() || rules.eager() && each.ongoing() == 0) {
          return true; // the method runs alone there, or the replica is idle
        }
        continue;
      }
      passesHere = true;
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
    if (!passesHere || ends - source.now() <= 0) {
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
   * Grants the gathered waiters at the best replica: the remote one that receives this window, else
   * one with loose requests of the key, else one with room for all, else the first in the ranker's
   * order.
   */
  private boolean offerTo(
      WaiterQueue queue,
      ReplicaSet set,
      Waiter head,
      BatchSettings rules,
      int size,
      @Nullable RoutedReplica closed) {
    String key = Objects.requireNonNull(head.batchKey);
    List<RoutedReplica> order = order(set, head.owner, closed);
    WindowTarget target = targets.get(key);
    if (target != null
        && target.isOpen(source.now())
        && order.contains(target.replica)
        && grantAt(queue, target.replica, head, rules, Math.min(size, target.left))) {
      return true;
    }
    for (RoutedReplica each : order) {
      BatchSeats seats = seatsOf(each, key);
      if (seats != null && seats.loose(key) > 0 && grantAt(queue, each, head, rules, size)) {
        return true;
      }
    }
    for (boolean whole : new boolean[] {true, false}) {
      for (RoutedReplica each : order) {
        boolean fits = each.maxOngoing() - each.ongoing() >= size;
        if (fits == whole && grantAt(queue, each, head, rules, size)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the accepted replicas in the ranker's order, and then all that are accepted. */
  private List<RoutedReplica> order(
      ReplicaSet set, WaiterOwner who, @Nullable RoutedReplica closed) {
    if (set.eligible.length == 1) {
      RoutedReplica only = set.eligible[0];
      return only == closed || !who.accepts(only) ? List.of() : List.of(only);
    }
    Pick.rank(set, who, source.ranking(), source.random());
    List<RoutedReplica> order = new ArrayList<>();
    int size = set.eligible.length;
    for (int place = 0; place < source.ranking().size(); place++) {
      RoutedReplica ranked = set.at(source.ranking().get(place));
      if (ranked != null) {
        order.add(ranked);
      }
    }
    List<RoutedReplica> all = Arrays.asList(set.eligible.clone());
    Collections.rotate(all, size == 0 ? 0 : source.random().nextInt(size));
    order.addAll(all);
    order.removeIf(each -> each == closed || !who.accepts(each));
    return order;
  }

  private boolean grantAt(
      WaiterQueue queue, RoutedReplica to, Waiter head, BatchSettings rules, int size) {
    String key = Objects.requireNonNull(head.batchKey);
    BatchSeats seats = seatsOf(to, key);
    if (seats == null) { // remote, or its method runs alone
      int granted = grantEach(queue, to, null, size);
      if (granted > 0 && !to.here()) {
        count(to, key, rules, granted);
      }
      return granted > 0;
    }
    int free = to.maxOngoing() - to.ongoing();
    boolean fits = false;
    for (int i = 0; i < members.size() && !fits; i++) {
      fits = members.get(i).cost <= free;
    }
    if (!fits) {
      return false; // a batch without a seat would start its loose requests early
    }
    BatchGroup group = seats.tryOpen(key, head.owner.sinceNanos(), rules);
    if (group == null) {
      return false;
    }
    try {
      return grantEach(queue, to, group, Math.min(size, group.room())) > 0;
    } finally {
      group.seal();
    }
  }

  /** Counts waiters that a remote replica receives; the first ones begin a window. */
  private void count(RoutedReplica to, String key, BatchSettings rules, int granted) {
    long now = source.now();
    WindowTarget target = targets.get(key);
    if (target == null || target.replica != to || !target.isOpen(now)) {
      for (var each = targets.values().iterator(); each.hasNext() && !each.next().isOpen(now); ) {
        each.remove();
      }
      targets.remove(key);
      target = new WindowTarget(to, now + rules.waitNanos(), rules.maxSize());
      targets.put(key, target); // behind the others
      if (targets.size() > MAX_TARGETS) {
        targets.remove(targets.keySet().iterator().next()); // its next waiter begins a window
      }
    }
    target.left -= granted;
  }

  /** Grants slots of a replica to the gathered waiters, one by one; returns their number. */
  private int grantEach(WaiterQueue queue, RoutedReplica to, @Nullable BatchGroup group, int size) {
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
      } else if (queue.isLate(each)) {
        members.subList(members.indexOf(each) + 1, members.size()).clear();
        break; // the slots are for this one
      } else if (each.cost == 1 && !each.owner.picky() && each.owner.limit().isEmpty()) {
        break; // no slot is left
      } else if (each.cost > 1 && (passed == null || each.sequence < passed.sequence)) {
        passed = each;
      }
    }
    return granted;
  }

  /** Seats waiters in a batch that a replica opened for loose requests. */
  void fill(WaiterQueue queue, RoutedReplica replica, BatchGroup group) {
    KeyLine line = lines.get(group.key());
    if (line != null && !queue.isLate(queue.ends.after)) {
      lookForLate(queue);
      int unfit = line.unfit;
      line.unfit = NONE; // found when no batch could start
      gather(queue.ends.after, line, group.room());
      grantEach(queue, replica, group, group.room());
      line.unfit = unfit;
      forget();
    }
  }

  /** Forgets the requests of the last batch, which an idle queue must not hold. */
  private void forget() {
    members.clear();
    passed = null;
  }

  /** Records that the requested time has come; the caller then pumps. Any thread. */
  public void onWake() {
    armedNanos = NEVER;
  }
}
