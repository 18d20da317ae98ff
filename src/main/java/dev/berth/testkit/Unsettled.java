package dev.berth.testkit;

import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.view.LedgerView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Description of an instance's unsettled work. Confined to the thread of the test. */
final class Unsettled {
  private final TestInstance instance;
  private final List<String> lines = new ArrayList<>();

  private Unsettled(TestInstance instance) {
    this.instance = instance;
  }

  /** Returns a line for each unsettled work; empty when all work is settled. */
  static List<String> of(TestInstance instance) {
    Unsettled found = new Unsettled(instance);
    instance.plane.host.replicas().forEach(found::look);
    instance.plane.routers.all().forEach(found::lookAtQueue);
    found.lines.addAll(instance.threads.unfinished());
    if (found.lines.isEmpty()) { // else these lines repeat the ones before
      instance.plane.routers.all().forEach(found::lookAtCounters);
      found.lookAtLoops();
      found.look(instance.plane.routers.bounds);
    }
    return List.copyOf(found.lines);
  }

  /** Returns the state of an instance whose test waits in vain. */
  static String describe(TestInstance instance) {
    List<String> unsettled = of(instance);
    StringBuilder text = new StringBuilder();
    unsettled.forEach(line -> text.append("\n  - ").append(line));
    if (unsettled.isEmpty()) {
      text.append("\n  - nothing of the application runs or waits");
    }
    text.append("\n  - the clock stands at ").append(instance.time.elapsed());
    int timers = instance.time.waiting();
    if (timers > 0) {
      Duration next = Duration.ofNanos(instance.time.next() - instance.time.getAsLong());
      text.append("; ")
          .append(count(timers, "timer"))
          .append(timers == 1 ? " waits for " : " wait, the first for ")
          .append(next)
          .append(": advance it");
    }
    return text.toString();
  }

  private void look(Replica replica) {
    LedgerView ledger = TestReplica.view(replica);
    String name = "replica " + replica.replicaId() + ": ";
    if (ledger.running() > 0) {
      List<String> asked =
          instance.bus.unanswered(replica.address().ordinal(), replica.address().epoch());
      int cancelled = ledger.running() - asked.size();
      lines.add(
          name
              + count(ledger.running(), "request")
              + (ledger.running() == 1 ? " runs" : " run")
              + (asked.isEmpty() ? "" : ": " + String.join(", ", asked))
              + (cancelled > 0 ? " (" + cancelled + " cancelled, not settled)" : ""));
    }
    boolean one = ledger.reserved() == 1;
    String held = " held by selections that were neither dispatched nor closed";
    add(name, ledger.reserved(), "slot", (one ? " is" : " are") + held);
    if (ledger.audit() == LedgerView.Audit.MISMATCH) {
      lines.add(name + "its slots do not add up: " + ledger);
    }
  }

  private void lookAtQueue(DeploymentRouter router) {
    String waits = router.queued() == 1 ? " waits" : " wait";
    add(nameOf(router), router.queued(), "request", waits + " for a slot");
  }

  private void lookAtCounters(DeploymentRouter router) {
    add(nameOf(router), router.counters.reserved(), "selection", " open");
    add(nameOf(router), router.counters.running(), "request", " without an answer");
  }

  private static String nameOf(DeploymentRouter router) {
    return "deployment " + router.deployment() + ": ";
  }

  private void lookAtLoops() {
    for (int index = 0; index < instance.plane.loops(); index++) {
      RouterLoop loop = instance.plane.routers.loop(index);
      if (loop.pendingRequests() > 0 || loop.deadlines() > 0) {
        lines.add(
            "event loop %s: %s and %s awaited"
                .formatted(
                    index,
                    count(loop.pendingRequests(), "answer"),
                    count(loop.deadlines(), "deadline")));
      }
      long invocations = instance.plane.replicas(index).invocations();
      add("event loop " + index + ": ", invocations, "handler", " not settled");
    }
  }

  private void look(InstanceQueueLimits bounds) {
    if (bounds.queued() > 0 || bounds.queuedBytes() > 0) {
      lines.add(
          "instance: %s of %s counted as waiting"
              .formatted(count(bounds.queued(), "request"), count(bounds.queuedBytes(), "byte")));
    }
    add("instance: ", bounds.streams.bytes(), "byte", " of responses in flight");
    long bodies =
        instance.plane.limits.bodies().windows().inUse()
            + instance.plane.limits.bodies().gathered().inUse();
    add("instance: ", bodies, "byte", " of bodies of requests held");
  }

  /** Adds a line with a count, if the count is above 0. */
  private void add(String where, long number, String what, String state) {
    if (number > 0) {
      lines.add(where + count(number, what) + state);
    }
  }

  private static String count(long number, String what) {
    return number + " " + what + (number == 1 ? "" : "s");
  }
}
