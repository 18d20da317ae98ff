package dev.berth.routing.slots;

import dev.berth.protocol.LoadReport;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** What tests of requests look at, or do, among slots. */
public final class SlotsProbe {
  public static final long STALE_NANOS = RemoteReplica.STALE_NANOS;
  public static final long INITIAL_BACKOFF_NANOS = RemoteReplica.INITIAL_BACKOFF_NANOS;
  public static final long MAX_BACKOFF_NANOS = RemoteReplica.MAX_BACKOFF_NANOS;

  private SlotsProbe() {}

  /** Returns a queue whose waiters are granted alone. */
  static WaiterQueue queue(GrantSource source, RoutingExclusions blocked) {
    SlotSource unused =
        new SlotSource(
            () -> {
              throw new IllegalStateException("no batches");
            },
            () -> false,
            new SplittableRandom(),
            () -> 0,
            () -> 0);
    return new WaiterQueue(source, blocked, new BatchForming(unused, () -> null, nanos -> {}));
  }

  /** Requests that are counted as ours at a replica elsewhere. */
  public static int own(RemoteReplica replica) {
    return replica.own.get();
  }

  /** Whether it said last that its loop is blocked, however long ago. */
  public static boolean saidBlocked(RoutedReplica replica) {
    return replica instanceof RemoteReplica remote
        && remote.report.get() != null
        && LoadReport.isBlocked(remote.report.get().load());
  }

  /** Takes a slot to run on, as the pick does. */
  public static @Nullable Grant take(RoutedReplica replica) {
    return replica.take(Grant.RUN, 1);
  }

  /** Whether it stands in the queue. */
  public static boolean isWaiting(Waiter waiter) {
    return waiter.waiting();
  }

  /** Who waits on an event loop. */
  public static int waitingOn(WaiterQueue queue, int loop) {
    return queue.sizeByLoop.get(loop);
  }

  public static @Nullable String batchKey(Waiter waiter) {
    return waiter.batchKey;
  }

  /** Returns the time at which the windows of a waiter and of those before it in its line end. */
  public static long windowEndNanos(Waiter waiter) {
    long end = windowOf(waiter);
    if (waiter.line != null) {
      for (Waiter each : waiter.line.waiters.headMap(waiter.sequence).values()) {
        end = each.waiting() && !each.owner.paused() ? Math.max(end, windowOf(each)) : end;
      }
    }
    return end;
  }

  private static long windowOf(Waiter waiter) {
    return waiter.owner.sinceNanos() + (waiter.rules == null ? 0 : waiter.rules.waitNanos());
  }

  /** Returns whether a replica is set aside for an earlier request than that of a place. */
  public static boolean isSetAside(WaiterQueue queue, String replicaId, long place) {
    Waiter keeper = queue.keeper;
    RoutedReplica kept = queue.kept;
    return keeper != null
        && kept != null
        && keeper.sequence < place
        && !keeper.owner.paused()
        && kept.info.replicaId().equals(replicaId);
  }

  /** The replicas that can hold the first overdue waiter before a place that any can hold. */
  public static List<RoutedReplica> overdueAt(
      WaiterQueue queue, long place, List<RoutedReplica> routable) {
    Waiter each = queue.ends.after;
    for (; each != queue.ends && each.sequence < place; each = each.after) {
      Waiter large = each;
      boolean overdue =
          each.cost > 1
              && each.waiting()
              && !each.owner.paused()
              && each.overtakenNanos != Waiter.NEVER
              && queue.source.now() - each.overtakenNanos >= queue.maxOvertakeNanos();
      List<RoutedReplica> holding =
          routable.stream()
              .filter(to -> to.maxOngoing() >= large.cost && large.owner.accepts(to))
              .toList();
      if (overdue && !holding.isEmpty()) {
        return holding;
      }
    }
    return List.of();
  }

  public static long overtakenNanos(Waiter waiter) {
    return waiter.overtakenNanos;
  }
}
