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
import dev.berth.protocol.RoutingSnapshot.Version;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the routers of every instance up to date: who pulled a deployment gets its snapshot, and
 * from then on what changes in it. A change costs one small message for each instance that has
 * routers of the deployment. Confined to the controller's loop.
 *
 * <p>The counter of versions is one for all deployments of a term. So "there is no such deployment"
 * has a version too, the newest of any, and nothing needs to be remembered of one that is gone.
 *
 * <p>A controller that starts anew holds its tongue about deployments of which it has published
 * nothing: routers go on with what the one before it told them. Only of those that are not declared
 * it says, once it knows of every replica there is, that there are none.
 */
public final class RoutingPublisher {
  /** Instances that can pull; pulls of more are refused: a bound that one instance never meets. */
  static final int MAX_INSTANCES = 4_096;

  /**
   * Checks in a row that differ before an instance is told to pull: the first may be a crossing.
   */
  private static final int DIFFERENCES = 2;

  /** One start of one instance, and what it was told. */
  private static final class Subscriber {
    final String node;
    final long incarnation;
    final Map<DeploymentId, Version> told = new HashMap<>(); // NONE: it waits for the first
    long digest;
    int differences;

    Subscriber(String node, long incarnation) {
      this.node = node;
      this.incarnation = incarnation;
    }

    void tell(DeploymentId deployment, Version version) {
      drop(deployment);
      told.put(deployment, version);
      digest += RoutingDigest.of(deployment, version);
    }

    void drop(DeploymentId deployment) {
      Version before = told.remove(deployment);
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
  private Version newest;
  private boolean recovered;

  /**
   * @param term the controller's, as {@link Epoch#number} has it
   * @param isDeclared whether a deployment is to exist, be it that nothing of it runs yet
   * @param instances sends to the feed of an instance; a message may be lost
   */
  public RoutingPublisher(
      long term, Predicate<DeploymentId> isDeclared, BiConsumer<String, BusMessage> instances) {
    this.term = term;
    this.isDeclared = isDeclared;
    this.instances = instances;
    this.newest = new Version(term, 0);
  }

  /**
   * The controller knows of every replica that ran before it: from now on a deployment of which
   * nothing was published, and that is not declared, does not exist.
   */
  public void recovered() {
    if (recovered) {
      return;
    }
    recovered = true;
    for (Subscriber subscriber : List.copyOf(subscribers.values())) {
      for (Map.Entry<DeploymentId, Version> told : List.copyOf(subscriber.told.entrySet())) {
        if (told.getValue().equals(Version.NONE)) {
          answer(subscriber, told.getKey(), Version.NONE);
        }
      }
    }
  }

  /** Tells an instance that there is a controller that does not know of it yet: it pulls. */
  public void greet(String node) {
    instances.accept(node, new RepullRouting(term));
  }

  /**
   * A deployment is as this says from now on.
   *
   * @throws IllegalArgumentException unless its version is later than that of any snapshot before
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
      Version told = to.told.get(snapshot.deployment());
      if (told == null) {
        continue; // it has no routers of it
      }
      boolean follows = before != null && before.version().equals(told);
      if (follows && change == null) {
        change = RoutingDelta.between(before, snapshot);
      }
      tell(to, follows && change != null ? change : RoutingDelta.whole(snapshot));
    }
  }

  /**
   * A deployment is gone. Its last snapshot should have said that it is not available; who pulls it
   * from now on is told so.
   */
  public void forget(DeploymentId deployment) {
    published.remove(deployment);
    subscribers.values().forEach(subscriber -> subscriber.drop(deployment));
  }

  /** An instance is gone. */
  public void lost(String node) {
    subscribers.remove(node);
  }

  /** Takes a message of an instance; false when it is none of those that are for routing. */
  public boolean on(BusMessage message) {
    if (message instanceof PullRouting pull) {
      pulled(pull);
      return true;
    }
    if (message instanceof CheckRouting check) {
      checked(check);
      return true;
    }
    return false;
  }

  private void pulled(PullRouting pull) {
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

  private void answer(Subscriber to, DeploymentId deployment, Version held) {
    RoutingSnapshot snapshot = published.get(deployment);
    if (snapshot == null && (!recovered || isDeclared.test(deployment))) {
      to.tell(deployment, Version.NONE); // it is told when there is something to tell
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

  private void checked(CheckRouting check) {
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
