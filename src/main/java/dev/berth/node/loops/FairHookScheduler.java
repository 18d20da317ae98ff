package dev.berth.node.loops;

import dev.berth.replica.hooks.HookThreads.HookKind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Fair scheduler of builders and hooks. Each application may run one of each kind, regardless of
 * others. Further ones share a number of threads for each kind. An application takes at most as
 * many shared threads as it leaves free, so that a new application finds some. The application with
 * the fewest running hooks goes first, then the one that waited longest.
 *
 * <p><b>Failure.</b> An interrupted hook that does not end is lost: another thread replaces its
 * thread, and the hook is counted until it ends. An application that lost a thread takes fewer
 * shares; with too many lost threads it runs nothing more.
 *
 * <p><b>Concurrency.</b> Not thread-safe: the caller holds a lock, and passes the time.
 *
 * <p>Source: the shares are the dynamic thresholds of Choudhury and Hahne, with a factor of 1.
 */
public final class FairHookScheduler {
  /** Shared threads of each kind but health, beyond the one thread of each application. */
  public static final int SHARED = 64;

  /** Shared threads for health checks: each replica has a check every few seconds. */
  public static final int SHARED_HEALTH = 256;

  /** Maximum number of waiting hooks of each kind; above the maximum number of replicas. */
  public static final int MAX_WAITING = 65_536;

  /** Lost threads of the instance at which each application with a lost thread is held. */
  public static final int MAX_LOST = 64;

  /** Lost threads of an application at which the application is held: nothing more of it runs. */
  public static final int MAX_LOST_PER_APPLICATION = 8;

  /** Time limit for the end of an interrupted hook; then its thread is lost. */
  public static final long LOST_AFTER_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A builder or hook, from its addition until its end. */
  static final class ScheduledHook {
    final Runnable task;
    final HookKind kind;
    volatile @Nullable Thread thread; // the thread that runs the hook
    private final HookQueue lane;
    final long number; // increases with each hook
    private @Nullable Long givenUpNanos;
    private boolean lost;

    private ScheduledHook(Runnable task, HookKind kind, HookQueue lane, long number) {
      this.task = task;
      this.kind = kind;
      this.lane = lane;
      this.number = number;
    }

    String application() {
      return lane.owner.name;
    }
  }

  /** The hooks of one kind of an application. */
  private static final class HookQueue {
    final ApplicationHooks owner;
    final ArrayDeque<ScheduledHook> waiting = new ArrayDeque<>();
    int running; // without the lost ones

    HookQueue(ApplicationHooks owner) {
      this.owner = owner;
    }

    int shares() {
      return Math.max(0, running - 1);
    }
  }

  private static final class ApplicationHooks {
    final String name;
    final Map<HookKind, HookQueue> lanes = new EnumMap<>(HookKind.class);
    int lost;

    ApplicationHooks(String name) {
      this.name = name;
    }

    int shares() {
      return lanes.values().stream().mapToInt(HookQueue::shares).sum();
    }

    boolean isIdle() {
      return lost == 0
          && lanes.values().stream().allMatch(lane -> lane.running == 0 && lane.waiting.isEmpty());
    }
  }

  final Map<String, ApplicationHooks> owners = new HashMap<>();
  private final Set<ScheduledHook> givenUp =
      new LinkedHashSet<>(); // interrupted, running, and not lost yet
  private long added;
  int lost;

  /**
   * Enqueues a hook.
   *
   * @return null when too many hooks of this kind wait
   */
  @Nullable ScheduledHook add(String application, HookKind kind, Runnable task) {
    if (waiting(kind) >= MAX_WAITING) {
      return null;
    }
    ApplicationHooks owner = owners.computeIfAbsent(application, ApplicationHooks::new);
    HookQueue lane = owner.lanes.computeIfAbsent(kind, each -> new HookQueue(owner));
    ScheduledHook hook = new ScheduledHook(task, kind, lane, ++added);
    lane.waiting.addLast(hook);
    return hook;
  }

  /** Removes a waiting hook; does nothing for a hook that runs. */
  public void remove(ScheduledHook hook) {
    if (hook.lane.waiting.remove(hook)) {
      forgetIfIdle(hook.lane.owner);
    }
  }

  /** Returns the hook that begins now; null while none may begin. */
  @Nullable ScheduledHook next() {
    for (HookKind kind : HookKind.values()) {
      int free = shared(kind) - sharing(kind);
      HookQueue lane =
          lanes(kind)
              .filter(each -> !each.waiting.isEmpty() && mayBegin(each, free))
              .min(
                  Comparator.<HookQueue>comparingInt(each -> each.running)
                      .thenComparingLong(each -> each.waiting.getFirst().number))
              .orElse(null);
      if (lane != null) {
        lane.running++;
        return lane.waiting.removeFirst();
      }
    }
    return null;
  }

  private boolean mayBegin(HookQueue lane, int free) {
    ApplicationHooks owner = lane.owner;
    if (isHeld(owner)) {
      return false;
    }
    return lane.running == 0
        || (lane.shares() < free
            && (owner.lost == 0 || owner.shares() < MAX_LOST_PER_APPLICATION - owner.lost));
  }

  private boolean isHeld(ApplicationHooks owner) {
    return owner.lost >= MAX_LOST_PER_APPLICATION || (owner.lost > 0 && lost >= MAX_LOST);
  }

  /** Returns a hook to the head of its queue, when there was no thread for it. */
  public void putBack(ScheduledHook hook) {
    hook.lane.running--;
    hook.lane.waiting.addFirst(hook);
  }

  /** Records that a running hook was interrupted. */
  public void markInterrupted(ScheduledHook hook, long nowNanos) {
    if (hook.givenUpNanos == null) {
      hook.givenUpNanos = nowNanos;
      givenUp.add(hook);
    }
  }

  /** Marks hooks as lost whose threads did not end in time, and returns them. */
  public List<ScheduledHook> findLost(long nowNanos) {
    List<ScheduledHook> found = new ArrayList<>();
    for (ScheduledHook hook : givenUp) { // in the order of their interrupts
      Long since = hook.givenUpNanos;
      if (since == null || nowNanos - since < LOST_AFTER_NANOS) {
        break;
      }
      found.add(hook);
    }
    for (ScheduledHook hook : found) {
      givenUp.remove(hook);
      hook.lost = true;
      hook.lane.running--;
      hook.lane.owner.lost++;
      lost++;
    }
    return found;
  }

  /** Returns whether a hook was interrupted and neither ended nor counts as lost. */
  public boolean anyGivenUp() {
    return !givenUp.isEmpty();
  }

  /**
   * Removes a hook that has ended.
   *
   * @return whether its thread was lost before, and is usable again
   */
  public boolean onEnded(ScheduledHook hook) {
    givenUp.remove(hook);
    if (hook.lost) {
      hook.lane.owner.lost--;
      lost--;
    } else {
      hook.lane.running--;
    }
    forgetIfIdle(hook.lane.owner);
    return hook.lost;
  }

  private void forgetIfIdle(ApplicationHooks owner) {
    if (owner.isIdle()) {
      owners.remove(owner.name, owner);
    }
  }

  /** Returns why an application is held: nothing more of it runs. Empty if it is not held. */
  public String heldFor(String application) {
    ApplicationHooks owner = owners.get(application);
    if (owner == null || !isHeld(owner)) {
      return "";
    }
    return ("threads lost to hooks that ignore interrupts: %s of the application (expected: below %s),"
            + " %s of the instance (expected: below %s)")
        .formatted(owner.lost, MAX_LOST_PER_APPLICATION, lost, MAX_LOST);
  }

  // --- figures ---

  /** Returns the number of threads of a kind that applications share. */
  public static int shared(HookKind kind) {
    return kind == HookKind.HEALTH ? SHARED_HEALTH : SHARED;
  }

  /** Returns the number of running hooks of a kind beyond the first of each application. */
  public int sharing(HookKind kind) {
    return lanes(kind).mapToInt(HookQueue::shares).sum();
  }

  /** Returns the number of running hooks of a kind, without the lost ones. */
  public int running(HookKind kind) {
    return lanes(kind).mapToInt(lane -> lane.running).sum();
  }

  public int waiting(HookKind kind) {
    return lanes(kind).mapToInt(lane -> lane.waiting.size()).sum();
  }

  /** Returns the highest number of lost threads of one application. */
  public int mostLost() {
    return owners.values().stream().mapToInt(owner -> owner.lost).max().orElse(0);
  }

  private Stream<HookQueue> lanes(HookKind kind) {
    return owners.values().stream().map(owner -> owner.lanes.get(kind)).filter(Objects::nonNull);
  }
}
