package dev.berth.routing.handle;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.RequestContext;
import dev.berth.api.Selections;
import dev.berth.routing.GangMember;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.legs.GangReservation;
import dev.berth.routing.legs.LegsObserver;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Pending slots of user code. The future and the cancel may run on different threads.
 *
 * @param <T> type of the result for user code: one selection, or several
 */
final class StartedLegs<T> implements LegsObserver, Pending<T> {
  private final Promise<T> chosen = Promise.promise();
  private final RouterLoop loop;
  private final @Nullable RequestContext within;
  private final Function<List<ReplicaSelection>, T> shown;
  private volatile boolean cancelled;
  private volatile Runnable ends = () -> {}; // set after the start

  private StartedLegs(
      RouterLoop loop, @Nullable RequestContext within, Function<List<ReplicaSelection>, T> shown) {
    this.loop = loop;
    this.within = within;
    this.shown = shown;
  }

  /** Starts the acquisition of one slot on a loop. */
  static StartedLegs<ReplicaSelection> start(RouterLoop loop, GangMember leg) {
    return start(loop, List.of(leg), leg.useDeadlineNanos(), true, held -> held.get(0));
  }

  private static <T> StartedLegs<T> start(
      RouterLoop loop,
      List<GangMember> legs,
      long deadlineNanos,
      boolean waits,
      Function<List<ReplicaSelection>, T> shown) {
    StartedLegs<T> started = new StartedLegs<>(loop, legs.get(0).parent(), shown);
    started.ends = GangReservation.start(loop, legs, deadlineNanos, waits, started);
    return started;
  }

  /** Starts the acquisition of several slots on a loop, with the earliest deadline of all. */
  static StartedLegs<Selections> start(
      RouterLoop loop, List<? extends DeploymentHandle> handles, Optional<Duration> wait) {
    List<GangMember> legs = new ArrayList<>();
    long now = loop.now();
    long left = wait.filter(given -> !given.isZero()).map(Duration::toNanos).orElse(Long.MAX_VALUE);
    for (DeploymentHandle handle : handles) {
      if (!(handle instanceof RoutedHandle routed) || !routed.loop().isBeside(loop)) {
        throw new IllegalArgumentException(
            "handles: " + handle + " (expected: handles of one instance)");
      }
      GangMember leg = routed.leg();
      legs.add(leg);
      if (leg.useDeadlineNanos() != SlotRequest.NO_DEADLINE) {
        left = Math.min(left, leg.useDeadlineNanos() - now);
      }
    }
    long deadline = left == Long.MAX_VALUE ? SlotRequest.NO_DEADLINE : now + left;
    boolean waits = wait.isEmpty() || !wait.get().isZero();
    return start(loop, legs, deadline, waits, Selections::new);
  }

  @Override
  public Future<T> future() {
    return chosen.future();
  }

  @Override
  public void cancel() {
    cancelled = true;
    ends.run();
  }

  @Override
  public void onSelections(List<ReplicaSelection> selections) {
    if (cancelled) { // by another thread, before user code received the slots
      BerthException failure = SlotRequest.cancelled();
      for (ReplicaSelection selection : selections) {
        selection.close().onFailure(failure::addSuppressed);
      }
      onFailure(failure, NO_LEG);
    } else {
      loop.worksFor(within);
      chosen.complete(shown.apply(selections));
    }
  }

  @Override
  public void onFailure(BerthException failure, int leg) {
    loop.post(within, () -> chosen.fail(failure));
  }
}
