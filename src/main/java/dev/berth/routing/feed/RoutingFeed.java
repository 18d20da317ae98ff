package dev.berth.routing.feed;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CheckRouting;
import dev.berth.protocol.BusMessage.PullRouting;
import dev.berth.protocol.BusMessage.RepullRouting;
import dev.berth.protocol.BusMessage.RoutingUpdate;
import dev.berth.protocol.RoutingDelta;
import dev.berth.protocol.RoutingDigest;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the routing snapshots of this instance's routers up to date. A snapshot is pulled at the
 * start of a router, updated by each delta that fits, and pulled again after a gap. Without a
 * controller the last snapshots stay in use; snapshots of a newer term replace those of an older
 * one. Confined to the control loop.
 *
 * <pre>
 *   (unknown) --want--> PULLING --update--> HELD --delta from the held version--> HELD
 *                          ^                 |
 *                          +---- a gap ------+      an older update, in any state: ignored
 * </pre>
 *
 * <p>The next update reveals a lost one as a gap. The last update before a quiet period has no next
 * one, and a restarted controller has no subscribers. The feed therefore sends one digest of all
 * held versions every {@link #CHECK_NANOS}, and pulls everything on request.
 *
 * <p>Source: Ray Serve's first router, which pulled its state from the controller so that it
 * recovers from failure by itself.
 */
public final class RoutingFeed {
  /** Interval in nanoseconds after which an unanswered pull is sent again. */
  static final long PULL_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Interval in nanoseconds between two digests. */
  static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Maximum deployments in one pull message. */
  static final int MAX_PULLED_AT_ONCE = 256;

  /** A deployment that has a router here. */
  private static final class RoutingFeedEntry {
    final DeploymentId deployment;
    @Nullable RoutingSnapshot last;
    long pulledNanos; // time of the last pull, while in pulling

    RoutingFeedEntry(DeploymentId deployment) {
      this.deployment = deployment;
    }

    SnapshotVersion version() {
      RoutingSnapshot held = last;
      return held == null ? SnapshotVersion.NONE : held.version();
    }
  }

  private final String node;
  private final long incarnation;
  private final Consumer<RoutingSnapshot> routers;
  private final Consumer<BusMessage> controller;
  private final Map<DeploymentId, RoutingFeedEntry> entries = new LinkedHashMap<>();
  final LinkedHashSet<RoutingFeedEntry> pulling = new LinkedHashSet<>(); // oldest pull first
  private long digest; // of all held versions
  private long checkedNanos;
  long gaps; // updates that did not fit the held version

  /**
   * @param node this instance's id
   * @param incarnation 64 random bits of this start
   * @param routers receives each newer snapshot of a deployment
   * @param controller sends to the controller; a message may be lost
   */
  public RoutingFeed(
      String node,
      long incarnation,
      Consumer<RoutingSnapshot> routers,
      Consumer<BusMessage> controller,
      long nowNanos) {
    this.node = node;
    this.incarnation = incarnation;
    this.routers = routers;
    this.controller = controller;
    this.checkedNanos = nowNanos;
  }

  /** Pulls the snapshot of a deployment whose router was created. */
  public void want(DeploymentId deployment, long nowNanos) {
    RoutingFeedEntry entry = entries.get(deployment);
    if (entry == null) {
      entry = new RoutingFeedEntry(deployment);
      entries.put(deployment, entry);
      pull(List.of(entry), false, nowNanos);
    }
  }

  /** Forgets a deployment whose router was removed. */
  public void forget(DeploymentId deployment) {
    RoutingFeedEntry entry = entries.remove(deployment);
    if (entry != null) {
      pulling.remove(entry);
      digest -= RoutingDigest.of(deployment, entry.version());
    }
  }

  /** Handles a message of the controller. */
  public void on(BusMessage message, long nowNanos) {
    if (message instanceof RoutingUpdate update) {
      update(update.delta(), nowNanos);
    } else if (message instanceof RepullRouting) {
      pull(entries.values(), true, nowNanos);
    } else {
      throw new IllegalArgumentException(
          "message: %s (expected: an update, or to pull again)"
              .formatted(message.getClass().getSimpleName()));
    }
  }

  private void update(RoutingDelta delta, long nowNanos) {
    RoutingFeedEntry entry = entries.get(delta.deployment());
    if (entry == null) {
      return; // its router was removed meanwhile
    }
    SnapshotVersion held = entry.version();
    int newer = delta.to().compareTo(held);
    RoutingSnapshot last = entry.last;
    if (delta.isWhole()) {
      if (newer >= 0) {
        pulling.remove(entry); // an older one comes from another controller and is no reply
      }
      if (newer > 0) {
        take(
            entry,
            new RoutingSnapshot(
                delta.deployment(), delta.to(), delta.available(), delta.changed()));
      }
    } else if (newer == 0 && delta.from().equals(held)) {
      pulling.remove(entry);
    } else if (newer > 0 && last != null && delta.from().equals(held)) {
      take(entry, delta.applyTo(last));
    } else if (newer > 0 && !pulling.contains(entry)) {
      gaps++;
      pull(List.of(entry), false, nowNanos);
    }
  }

  private void take(RoutingFeedEntry entry, RoutingSnapshot next) {
    digest +=
        RoutingDigest.of(entry.deployment, next.version())
            - RoutingDigest.of(entry.deployment, entry.version());
    entry.last = next;
    routers.accept(next);
  }

  /**
   * Repeats unanswered pulls, and sends the digest when due. Called a few times per second while a
   * pull is unanswered.
   *
   * @return nanoseconds until the next call is needed
   */
  public long tick(long nowNanos) {
    pull(
        pulling.stream()
            .takeWhile(entry -> nowNanos - entry.pulledNanos >= PULL_AGAIN_NANOS)
            .toList(),
        false,
        nowNanos);
    if (nowNanos - checkedNanos >= CHECK_NANOS) {
      checkedNanos = nowNanos;
      if (!entries.isEmpty()) {
        controller.accept(new CheckRouting(node, incarnation, digest));
      }
    }
    return pulling.isEmpty() ? checkedNanos + CHECK_NANOS - nowNanos : 0;
  }

  /** Pulls deployments; each has at most one pull in flight. */
  private void pull(Collection<RoutingFeedEntry> wanted, boolean all, long nowNanos) {
    List<PullRouting.Held> held = new ArrayList<>();
    for (RoutingFeedEntry entry : wanted) {
      pulling.remove(entry);
      pulling.add(entry);
      entry.pulledNanos = nowNanos;
      held.add(new PullRouting.Held(entry.deployment, entry.version()));
    }
    for (int from = 0; from < held.size(); from += MAX_PULLED_AT_ONCE) {
      int to = Math.min(held.size(), from + MAX_PULLED_AT_ONCE);
      boolean first = all && from == 0;
      controller.accept(new PullRouting(node, incarnation, first, held.subList(from, to)));
    }
  }

  // --- status ---

  /** Returns the snapshot in use; null before the first one. */
  public @Nullable RoutingSnapshot last(DeploymentId deployment) {
    RoutingFeedEntry entry = entries.get(deployment);
    return entry == null ? null : entry.last;
  }
}
