package dev.berth.controller;

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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Publishes routing state to every instance: an instance that pulled a deployment receives its
 * snapshot, then its deltas. A change costs one small message per instance with routers of the
 * deployment. Confined to the controller's loop.
 *
 * <p><b>State.</b> All deployments of a term share one version counter. A reply that a deployment
 * does not exist therefore has a version too, the newest of any, and removed deployments need no
 * record.
 *
 * <p><b>Failure.</b> A new controller sends nothing about deployments that it has not published
 * yet: routers continue with the snapshot of its predecessor. Once all replicas are known, it
 * reports undeclared deployments as absent.
 */
public final class RoutingPublisher {
  /**
   * Maximum number of subscribed instances; pulls of further ones are refused. One instance never
   * reaches it.
   */
  static final int MAX_INSTANCES = 4_096;

  /**
   * Consecutive digest differences before an instance must pull again: the first may be a crossing
   * message.
   */
  private static final int DIFFERENCES = 2;

  /** The subscription of one process of an instance, with the versions sent to it. */
  private static final class Subscriber {
    final String node;
    final long incarnation;
    // NONE: it waits for the first snapshot
    final Map<DeploymentId, SnapshotVersion> told = new HashMap<>();
    long digest;
    int differences;

    Subscriber(String node, long incarnation) {
      this.node = node;
      this.incarnation = incarnation;
    }

    void tell(DeploymentId deployment, SnapshotVersion version) {
      drop(deployment);
      told.put(deployment, version);
      digest += RoutingDigest.of(deployment, version);
    }

    void drop(DeploymentId deployment) {
      SnapshotVersion before = told.remove(deployment);
      if (before != null) {
        digest -= RoutingDigest.of(deployment, before);
      }
    }

    void clear() {
      told.clear();
      digest = 0;
      differences = 0;
    }
  }

  private final long term;
  private final Predicate<DeploymentId> isDeclared;
  private final BiConsumer<String, BusMessage> instances;
  private final Map<DeploymentId, RoutingSnapshot> published = new HashMap<>();
  private final Map<String, Subscriber> subscribers = new LinkedHashMap<>(); // by node
  private SnapshotVersion newest;
  private boolean recovered;

  /**
   * @param term term of the controller, as {@link Epoch#number}
   * @param isDeclared whether a deployment should exist, also before its first replica runs
   * @param instances sends to the feed of an instance; a message may be lost
   */
  public RoutingPublisher(
      long term, Predicate<DeploymentId> isDeclared, BiConsumer<String, BusMessage> instances) {
    this.term = term;
    this.isDeclared = isDeclared;
    this.instances = instances;
    this.newest = new SnapshotVersion(term, 0);
  }

  /**
   * Ends recovery: the controller knows every earlier replica. From now on an undeclared deployment
   * without a snapshot does not exist.
   */
  public void onRecovered() {
    if (recovered) {
      return;
    }
    recovered = true;
    for (Subscriber subscriber : List.copyOf(subscribers.values())) {
      for (Map.Entry<DeploymentId, SnapshotVersion> told :
          List.copyOf(subscriber.told.entrySet())) {
        if (told.getValue().equals(SnapshotVersion.NONE)) {
          answer(subscriber, told.getKey(), SnapshotVersion.NONE);
        }
      }
    }
  }

  /** Announces a new controller to an instance, which then pulls. */
  public void greet(String node) {
    instances.accept(node, new RepullRouting(term));
  }

  /**
   * Publishes a snapshot to the instances that pulled its deployment.
   *
   * @throws IllegalArgumentException unless its version is later than that of any earlier snapshot
   */
  public void publish(RoutingSnapshot snapshot) {
    if (snapshot.version().compareTo(newest) <= 0) {
      throw new IllegalArgumentException(
          "version: " + snapshot.version() + " (expected: later than " + newest + ")");
    }
    newest = snapshot.version();
    RoutingSnapshot before = published.put(snapshot.deployment(), snapshot);
    @Nullable RoutingDelta change = null;
    for (Subscriber to : subscribers.values()) {
      SnapshotVersion told = to.told.get(snapshot.deployment());
      if (told == null) {
        continue; // it has no routers of the deployment
      }
      boolean follows = before != null && before.version().equals(told);
      if (follows && change == null) {
        change = RoutingDelta.between(before, snapshot);
      }
      tell(to, follows && change != null ? change : RoutingDelta.whole(snapshot));
    }
  }

  /**
   * Removes a deployment. Its last snapshot should mark it as unavailable; later pulls receive that
   * reply.
   */
  public void forget(DeploymentId deployment) {
    published.remove(deployment);
    subscribers.values().forEach(subscriber -> subscriber.drop(deployment));
  }

  /** Removes a lost instance. */
  public void onNodeLost(String node) {
    subscribers.remove(node);
  }

  /** Handles a message of an instance; returns false for messages of other kinds. */
  public boolean on(BusMessage message) {
    if (message instanceof PullRouting pull) {
      onPull(pull);
      return true;
    }
    if (message instanceof CheckRouting check) {
      onCheck(check);
      return true;
    }
    return false;
  }

  private void onPull(PullRouting pull) {
    Subscriber subscriber = subscribers.get(pull.node());
    if (subscriber == null && subscribers.size() >= MAX_INSTANCES) {
      return;
    }
    if (subscriber == null || subscriber.incarnation != pull.incarnation()) {
      subscriber = new Subscriber(pull.node(), pull.incarnation());
      subscribers.put(pull.node(), subscriber);
    } else if (pull.all()) {
      subscriber.clear();
    }
    for (PullRouting.Held held : pull.held()) {
      answer(subscriber, held.deployment(), held.version());
    }
  }

  private void answer(Subscriber to, DeploymentId deployment, SnapshotVersion held) {
    RoutingSnapshot snapshot = published.get(deployment);
    if (snapshot == null && (!recovered || isDeclared.test(deployment))) {
      to.tell(deployment, SnapshotVersion.NONE); // it receives the first snapshot later
      return;
    }
    if (snapshot == null) {
      snapshot = new RoutingSnapshot(deployment, newest, false, List.of());
    }
    tell(
        to,
        held.equals(snapshot.version())
            ? RoutingDelta.nothing(snapshot)
            : RoutingDelta.whole(snapshot));
  }

  private void tell(Subscriber to, RoutingDelta delta) {
    to.tell(delta.deployment(), delta.to());
    instances.accept(to.node, new RoutingUpdate(delta));
  }

  private void onCheck(CheckRouting check) {
    Subscriber subscriber = subscribers.get(check.node());
    if (subscriber == null || subscriber.incarnation != check.incarnation()) {
      instances.accept(check.node(), new RepullRouting(term));
    } else if (subscriber.digest == check.digest() || !recovered) {
      subscriber.differences = 0;
    } else if (++subscriber.differences == DIFFERENCES) {
      subscriber.differences = 0;
      instances.accept(check.node(), new RepullRouting(term));
    }
  }
}
