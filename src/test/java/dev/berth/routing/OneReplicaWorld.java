package dev.berth.routing;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.fakes.RoutingWorld;
import dev.berth.fakes.Sending;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.view.LedgerView;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The real routers of a few event loops around one replica with one slot. A test says which thread
 * is a loop, and runs what is left to do when all threads rest.
 */
final class OneReplicaWorld {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final Request REQUEST = Request.get("/");

  final ManualClock clock = new ManualClock();
  final SlotLedger ledger;
  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<BusMessage.CallRequest> running =
      new ConcurrentLinkedQueue<>();
  private final AtomicInteger answered = new AtomicInteger();
  final Routers routers;
  final DeploymentRouter router;

  private volatile @Nullable Thread turning; // that runs the loops' tasks

  /** Runs whenever the routers ask for the time. */
  Runnable whenTheClockIsRead = () -> {};

  OneReplicaWorld(int loops) {
    this(loops, loop -> true);
  }

  OneReplicaWorld(int loops, IntPredicate inLoop) {
    ledger = Ledgers.ledger(1, clock);
    PlaneBuilder plane = new PlaneBuilder("here", this::time, Sending.of(this::send));
    for (int loop = 0; loop < loops; loop++) {
      int index = loop;
      plane.loop(tasks::add, () -> turning == Thread.currentThread() || inLoop.test(index));
    }
    routers = plane.routers(Replicas.directory(List.of(ledger)));
    router = routers.router(DEPLOYMENT, RoutingProbe.DEFAULTS);
    router.update(
        Replicas.snapshot(
            DEPLOYMENT, Replicas.info("r", DEPLOYMENT, new ReplicaAddress("here", 0, 0, 1), 1)));
  }

  private long time() {
    whenTheClockIsRead.run();
    return clock.getAsLong();
  }

  private boolean send(String node, String address, BusMessage message) {
    if (message instanceof BusMessage.CallRequest call) {
      running.add(call);
    } else if (message instanceof BusMessage.CancelCall cancel) {
      running.removeIf(
          call -> call.callId() == cancel.callId() && call.source().equals(cancel.source()));
      completeSlot();
    }
    return true;
  }

  /** A call that comes in on a loop. */
  RoutedCall call(int loop) {
    return RoutedCall.start(router, routers.loop(loop), REQUEST, new Counted(), loop(loop).now());
  }

  RouterLoop loop(int index) {
    return routers.loop(index);
  }

  /** Requests that were sent and have not been answered. */
  int running() {
    return running.size();
  }

  /** The handler of the running request is done: its slot is free, its answer not yet sent. */
  void completeSlot() {
    if (!ledger.observer().completing(ledger, 1)) {
      ledger.complete();
    }
  }

  /** Sends the answer of the oldest request that was sent, its slot being complete. */
  void respondFirst() {
    BusMessage.CallRequest call = running.poll();
    BusMessage answer = RoutingWorld.answer(call.callId());
    here(() -> routers.loop(call.source().loop()).onMessage(answer));
  }

  /** Runs what was left to the loops. */
  void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      here(task);
    }
  }

  private void here(Runnable task) {
    turning = Thread.currentThread();
    task.run();
    turning = null;
  }

  /** Ends what runs, until nothing runs. */
  void finish() {
    runTasks();
    while (!running.isEmpty()) {
      completeSlot();
      respondFirst();
      runTasks();
    }
  }

  /** While every thread rests. */
  void nobodyWaitsBesideAFreeSlot() {
    runTasks();
    if (router.queue.size() > 0 && ledger.ongoing() == 0) {
      throw new AssertionError(
          "waiting: " + router.queue.size() + " beside a free slot (expected: a wake-up)");
    }
  }

  /** Nothing waits, runs or is held, and the audit agrees. */
  void assertAtRest() {
    if (router.queue.size() != 0
        || router.bounds.queued() != 0
        || router.counters.running() != 0
        || ledger.ongoing() != 0
        || ledger.audit() != LedgerView.Audit.CLEAN) {
      throw new AssertionError(
          "waiting: %d, in the bounds: %d, running: %d, %s (expected: all at rest)"
              .formatted(
                  router.queue.size(),
                  router.bounds.queued(),
                  router.counters.running(),
                  ledger.view("r", 0)));
    }
  }

  /** Calls that had their one answer. */
  int answered() {
    return answered.get();
  }

  private final class Counted extends FakeCaller {
    @Override
    protected void ended() {
      answered.incrementAndGet();
    }
  }
}
