package dev.berth.node.loops;

import dev.berth.replica.hooks.HookThreads.Kind;
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
 * Which builder or hook runs next. Each application may have one of each kind under way, whatever
 * others do; more share a number of threads for each kind, of which it takes no more than it leaves
 * free, so that a newcomer finds some. Among those that may go on, first come those with fewest
 * shares, then those who waited longest.
 *
 * <p>A hook that was interrupted and does not end is lost: its thread is made up for, and counted
 * until it ends after all. An application that lost a thread takes fewer shares; with too many lost
 * nothing more of it runs.
 *
 * <p>Times are handed in. One thread at a time.
 *
 * <p>Source: the shares are the dynamic thresholds of Choudhury and Hahne, with a factor of 1.
 */
public final class HookShares {
  /** Threads beyond the one that each application has of its own, for each kind but health. */
  public static final int SHARED = 64;

  /** The same for health checks: each replica has one of these every few seconds. */
  public static final int SHARED_HEALTH = 256;

  /** Hooks that may wait, for each kind; more than there are places for replicas. */
  public static final int MOST_WAITING = 65_536;

  /** Lost threads of the instance from which an application that lost any runs nothing more. */
  public static final int MOST_LOST = 64;

  /** Lost threads of an application from which nothing more of it runs. */
  public static final int MOST_LOST_OF_APPLICATION = 8;

  /** How long an interrupted hook may take to end before its thread is lost. */
  public static final long LOST_AFTER_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** One of them, from when it is added until it has ended. */
  static final class Hook {
    final Runnable task;
    final Kind kind;
    volatile @Nullable Thread thread; // on which it runs
    private final Lane lane;
    final long number; // a later one has a higher one
    private @Nullable Long givenUpNanos;
    private boolean lost;

    private Hook(Runnable task, Kind kind, Lane lane, long number) {
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
  private static final class Lane {
    final Owner owner;
    final ArrayDeque<Hook> waiting = new ArrayDeque<>();
    int running; // the lost ones are not among them

    Lane(Owner owner) {
      this.owner = owner;
    }

    int shares() {
      return Math.max(0, running - 1);
    }

    long firstNumber() {
      return waiting.getFirst().number;
    }
  }

  private static final class Owner {
    final String name;
    final Map<Kind, Lane> lanes = new EnumMap<>(Kind.class);
    int lost;

    Owner(String name) {
      this.name = name;
    }

    int shares() {
      return lanes.values().stream().mapToInt(Lane::shares).sum();
    }

    boolean isIdle() {
      return lost == 0
          && lanes.values().stream().allMatch(lane -> lane.running == 0 && lane.waiting.isEmpty());
    }
  }

  private final Map<String, Owner> owners = new HashMap<>();
  private final Set<Hook> givenUp = new LinkedHashSet<>(); // running, and not lost yet
  private long added;
  private int lost;

  /**
   * Something is to run.
   *
   * @return null when too many wait
   */
  @Nullable Hook add(String application, Kind kind, Runnable task) {
    if (waiting(kind) >= MOST_WAITING) {
      return null;
    }
    Owner owner = owners.computeIfAbsent(application, Owner::new);
    Lane lane = owner.lanes.computeIfAbsent(kind, each -> new Lane(owner));
    Hook hook = new Hook(task, kind, lane, ++added);
    lane.waiting.addLast(hook);
    return hook;
  }

  /** It is not to run; nothing happens when it does already. */
  public void remove(Hook hook) {
    if (hook.lane.waiting.remove(hook)) {
      forgetIfIdle(hook.lane.owner);
    }
  }

  /** The one that begins now; null while none may. */
  @Nullable Hook next() {
    for (Kind kind : Kind.values()) {
      int free = shared(kind) - sharing(kind);
      Lane lane =
          lanes(kind)
              .filter(each -> !each.waiting.isEmpty() && mayBegin(each, free))
              .min(
                  Comparator.<Lane>comparingInt(each -> each.running)
                      .thenComparingLong(Lane::firstNumber))
              .orElse(null);
      if (lane != null) {
        lane.running++;
        return lane.waiting.removeFirst();
      }
    }
    return null;
  }

  private boolean mayBegin(Lane lane, int free) {
    Owner owner = lane.owner;
    if (isHeld(owner)) {
      return false;
    }
    return lane.running == 0
        || (lane.shares() < free
            && (owner.lost == 0 || owner.shares() < MOST_LOST_OF_APPLICATION - owner.lost));
  }

  private boolean isHeld(Owner owner) {
    return owner.lost >= MOST_LOST_OF_APPLICATION || (owner.lost > 0 && lost >= MOST_LOST);
  }

  /** There was no thread for one that was to begin: it is the first to wait again. */
  public void putBack(Hook hook) {
    hook.lane.running--;
    hook.lane.waiting.addFirst(hook);
  }

  /** One that runs was interrupted. */
  public void givenUp(Hook hook, long nowNanos) {
    if (hook.givenUpNanos == null) {
      hook.givenUpNanos = nowNanos;
      givenUp.add(hook);
    }
  }

  /** Those whose threads are lost from now on. */
  public List<Hook> findLost(long nowNanos) {
    List<Hook> found = new ArrayList<>();
    for (Hook hook : givenUp) { // the first was given up first
      Long since = hook.givenUpNanos;
      if (since == null || nowNanos - since < LOST_AFTER_NANOS) {
        break;
      }
      found.add(hook);
    }
    for (Hook hook : found) {
      givenUp.remove(hook);
      hook.lost = true;
      hook.lane.running--;
      hook.lane.owner.lost++;
      lost++;
    }
    return found;
  }

  /**
   * One that ran has ended.
   *
   * @return whether its thread was lost, and is back
   */
  public boolean ended(Hook hook) {
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

  private void forgetIfIdle(Owner owner) {
    if (owner.isIdle()) {
      owners.remove(owner.name, owner);
    }
  }

  /** Why nothing more of an application runs; empty while it may. */
  public String heldFor(String application) {
    Owner owner = owners.get(application);
    if (owner == null || !isHeld(owner)) {
      return "";
    }
    return ("threads lost to hooks that heed no interrupt: %s of the application"
            + " (expected: below %s), %s of the instance (expected: below %s)")
        .formatted(owner.lost, MOST_LOST_OF_APPLICATION, lost, MOST_LOST);
  }

  // --- figures ---

  /** Threads of a kind that applications share. */
  public static int shared(Kind kind) {
    return kind == Kind.HEALTH ? SHARED_HEALTH : SHARED;
  }

  /** Of those of a kind that run, those beyond the first of their application. */
  public int sharing(Kind kind) {
    return lanes(kind).mapToInt(Lane::shares).sum();
  }

  /** Those of a kind that run, the lost ones apart. */
  public int running(Kind kind) {
    return lanes(kind).mapToInt(lane -> lane.running).sum();
  }

  public int waiting(Kind kind) {
    return lanes(kind).mapToInt(lane -> lane.waiting.size()).sum();
  }

  public int lost() {
    return lost;
  }

  /** Of the lost threads, the most of one application. */
  public int mostLost() {
    return owners.values().stream().mapToInt(owner -> owner.lost).max().orElse(0);
  }

  /** Applications of which anything runs, waits or is lost. */
  public int applications() {
    return owners.size();
  }

  private Stream<Lane> lanes(Kind kind) {
    return owners.values().stream().map(owner -> owner.lanes.get(kind)).filter(Objects::nonNull);
  }
}
