package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Selections;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Several handles' slots on their way to user code. The future's and the cancel's threads differ.
 */
final class StartedLegs implements Selections.Choice, LegsObserver {
  private final Promise<Selections> chosen = Promise.promise();
  private final RouterLoop loop;
  private final List<Leg> legs;
  private final long deadlineNanos;
  private final boolean waits;
  private volatile boolean cancelled;
  private @Nullable Runnable ends; // the loop's

  private StartedLegs(RouterLoop loop, List<Leg> legs, long deadlineNanos, boolean waits) {
    this.loop = loop;
    this.legs = legs;
    this.deadlineNanos = deadlineNanos;
    this.waits = waits;
  }

  /** Starts on a loop, with one deadline: the earliest of all. */
  static Selections.Choice start(
      RouterLoop loop, List<? extends DeploymentHandle> handles, Optional<Duration> wait) {
    List<Leg> legs = new ArrayList<>();
    long now = loop.now();
    long left = wait.filter(given -> !given.isZero()).map(Duration::toNanos).orElse(Long.MAX_VALUE);
    for (DeploymentHandle handle : handles) {
      if (!(handle instanceof RoutedHandle routed) || !routed.isOfInstance(loop)) {
        throw new IllegalArgumentException(
            "handles: " + handle + " (expected: handles of one instance)");
      }
      Leg leg = routed.leg();
      legs.add(leg);
      if (leg.useDeadlineNanos() != SlotRequest.NO_DEADLINE) {
        left = Math.min(left, leg.useDeadlineNanos() - now);
      }
    }
    long deadline = left == Long.MAX_VALUE ? SlotRequest.NO_DEADLINE : now + left;
    boolean waits = wait.isEmpty() || !wait.get().isZero();
    StartedLegs started = new StartedLegs(loop, legs, deadline, waits);
    loop.run(started::begin);
    return started;
  }

  private void begin() {
    if (cancelled) {
      onFailure(cancelledByCaller(), NO_LEG);
      return;
    }
    ends = RoutedLegs.start(loop, legs, deadlineNanos, waits, this);
  }

  @Override
  public Future<Selections> selections() {
    return chosen.future();
  }

  @Override
  public void cancel() {
    cancelled = true;
    loop.run(
        () -> {
          if (ends != null) {
            ends.run();
          }
        });
  }

  @Override
  public void onSelections(List<ReplicaSelection> selections) {
    if (cancelled) { // by another thread, after all were held and before anyone saw them
      BerthException failure = cancelledByCaller();
      for (ReplicaSelection selection : selections) {
        selection.close().onFailure(failure::addSuppressed);
      }
      onFailure(failure, NO_LEG);
    } else {
      chosen.complete(new Selections(selections));
    }
  }

  @Override
  public void onFailure(BerthException failure, int leg) {
    loop.ports.executor().execute(() -> chosen.fail(failure));
  }

  private static BerthException cancelledByCaller() {
    return new BerthException.Cancelled("the caller cancelled");
  }
}
