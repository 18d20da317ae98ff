package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.Effort;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.LoopThreads;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.fakes.Sending;
import dev.berth.node.DataPlane;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.replica.Replica;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * One instance whole, but for Vert.x: four threads as event loops, each with its real router loop
 * and replica loop, a replica on each, and messages between them. Users on every loop choose,
 * dispatch, call, cancel, close, hand selections to other threads and forget them, while the number
 * of slots changes and time passes.
 */
@Tag("concurrency")
class FourEventLoopsTest {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");
  private static final String NODE = "here";
  private static final int LOOPS = 4;
  private static final int SLOTS = 6;
  private static final int UNDER_WAY_MAX = 24; // per loop: more than the slots, so that some wait
  private static final int STEPS_PER_TASK = 8; // between them the loop takes messages
  private static final long SEED = 20_261;
  private static final long TTL = Duration.ofSeconds(10).toNanos();

  private final ManualClock clock = new ManualClock();
  @AutoClose private final LoopThreads threads = new LoopThreads(LOOPS);
  private final Map<String, Consumer<BusMessage>> consumers = new HashMap<>();
  private final Map<String, LoopThreads.Loop> homes = new HashMap<>();
  private final List<Replica> replicas = new ArrayList<>();
  private DataPlane plane;
  private Routers routers;
  private DeploymentRouter router;

  private boolean send(String node, String address, BusMessage message) {
    Consumer<BusMessage> consumer = consumers.get(address);
    homes.get(address).execute(() -> consumer.accept(message));
    return true;
  }

  private void start() throws Exception {
    PlaneBuilder building = new PlaneBuilder(NODE, clock, Sending.of(this::send));
    for (int i = 0; i < LOOPS; i++) {
      building.loop(threads.loop(i), threads.loop(i)::isHere);
    }
    plane = building.plane();
    routers = plane.routers;
    router = routers.router(DEPLOYMENT, RoutingProbe.DEFAULTS);
    for (int i = 0; i < LOOPS; i++) {
      LoopThreads.Loop home = threads.loop(i);
      plane.receive(
          i,
          (address, receiver) -> {
            consumers.put(address, receiver);
            homes.put(address, home);
          });
    }
    ReplicaInfo[] infos = new ReplicaInfo[LOOPS];
    for (int i = 0; i < LOOPS; i++) {
      infos[i] = startReplica(i);
    }
    routers.update(Replicas.snapshot(DEPLOYMENT, infos));
  }

  private ReplicaInfo startReplica(int index) throws Exception {
    SplittableRandom random = new SplittableRandom(SEED * 31 + index);
    LoopThreads.Loop loop = threads.loop(index);
    Replica replica =
        plane
            .host
            .begin(
                Replicas.spec(
                    "r" + index,
                    DEPLOYMENT,
                    100 + index,
                    SLOTS,
                    context -> new SometimesLate(loop, random)),
                List.of(Replicas.seat(plane.replicas(index))))
            .running()
            .toCompletionStage()
            .toCompletableFuture()
            .get(10, TimeUnit.SECONDS);
    replicas.add(replica);
    return Replicas.info(replica);
  }

  /** Answers at once, in a later task, or with a failure. */
  private record SometimesLate(LoopThreads.Loop loop, SplittableRandom random)
      implements AsyncHandler {
    private static final Response DONE = Response.text("done");

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      int how = random.nextInt(16);
      if (how == 0) {
        return Future.failedFuture(
            new BerthException.HandlerFailed("a handler that fails now and then", null));
      }
      if (how < 8) {
        return Future.succeededFuture(DONE);
      }
      Promise<Response> later = Promise.promise();
      loop.execute(() -> later.complete(DONE));
      return later.future();
    }
  }

  /** The users of one loop: a task that does a few things and posts itself again. */
  private final class Users implements Runnable {
    private final int index;
    private final RouterLoop loop;
    private final SplittableRandom random;
    private final CountDownLatch finished;
    private final ArrayDeque<RoutedCall> calls = new ArrayDeque<>();
    private final ArrayDeque<ChooseOperation> choices = new ArrayDeque<>();
    private final ArrayDeque<ReplicaSelection> selections = new ArrayDeque<>();
    private final AtomicInteger underWay = new AtomicInteger(); // asked and not answered
    private int left;
    private boolean parked;
    private long routed; // calls
    private final long[] done = new long[Step.values().length];

    Users(int index, int operations, CountDownLatch finished) {
      this.index = index;
      this.loop = routers.loop(index);
      this.random = new SplittableRandom(SEED * 7 + index);
      this.left = operations;
      this.finished = finished;
    }

    @Override
    public void run() {
      for (int i = 0; i < STEPS_PER_TASK && left > 0 && !mustWait(); i++) {
        Step step = STEPS.get(random.nextInt(STEPS.size()));
        if (taken(step)) {
          done[step.ordinal()]++;
          left--;
        }
      }
      if (left == 0) {
        finished.countDown();
      } else if (mustWait()) {
        parked = true; // until an answer comes
      } else {
        threads.loop(index).execute(this);
      }
    }

    /** Everything was asked that may be, and nothing is held. */
    private boolean mustWait() {
      return selections.isEmpty() && !mayAsk();
    }

    private void answered() {
      underWay.decrementAndGet();
      if (parked) {
        parked = false;
        threads.loop(index).execute(this);
      }
    }

    /** Whether there was something to do it with. */
    private boolean taken(Step step) {
      return switch (step) {
        case CALL -> mayAsk() && call();
        case CHOOSE -> mayAsk() && choose();
        case DISPATCH -> with(selections.poll(), each -> started(each.start(Request.get("/"))));
        case DISPATCH_AND_CLOSE -> with(selections.poll(), this::race);
        case CLOSE -> with(selections.poll(), this::close);
        case RENEW -> with(selections.peekLast(), ReplicaSelection::renew);
        case FORGET -> selections.poll() != null;
        case CANCEL_CALL -> with(oldOrNew(calls), RoutedCall::cancel);
        case CANCEL_CHOICE -> with(oldOrNew(choices), ChooseOperation::cancel);
        case CHANGE_MAX -> {
          replicas.get(random.nextInt(LOOPS)).setMaxOngoing(1 + random.nextInt(2 * SLOTS));
          yield true;
        }
        case TIME -> {
          clock.advance(Duration.ofMillis(random.nextInt(3_000)));
          plane.tick(index);
          yield true;
        }
        case SWEEP -> {
          plane.host.sweep(0, 1, mismatch -> {});
          yield true;
        }
      };
    }

    private boolean mayAsk() {
      return underWay.get() < UNDER_WAY_MAX;
    }

    /** To be run with the answer: exactly one, whatever happens. */
    private Runnable asked() {
      underWay.incrementAndGet();
      AtomicBoolean told = new AtomicBoolean();
      return () -> {
        assertThat(told.getAndSet(true)).as("a second answer").isFalse();
        answered();
      };
    }

    private boolean call() {
      underWay.incrementAndGet();
      long now = loop.now();
      long deadline = random.nextInt(8) == 0 ? now + Duration.ofSeconds(20).toNanos() : NO_DEADLINE;
      calls.add(
          RoutedCall.start(
              router,
              loop,
              Request.get("/"),
              new FakeCaller("", now, deadline) {
                @Override
                protected void ended() {
                  routed += told.size() - 1;
                  answered();
                }
              },
              now));
      trim(calls);
      return true;
    }

    private boolean choose() {
      Runnable answer = asked();
      choices.add(
          RoutingProbe.choose(
              router,
              loop,
              TTL,
              selection -> {
                answer.run();
                selections.add(selection);
              },
              failure -> answer.run()));
      trim(choices);
      return true;
    }

    /** The oldest are forgotten here, not cancelled: they answer when they do. */
    private void trim(ArrayDeque<?> kept) {
      if (kept.size() > UNDER_WAY_MAX) {
        kept.poll();
      }
    }

    private void started(Pending<Response> call) {
      Runnable answer = asked();
      call.future().onComplete(result -> answer.run());
      if (random.nextInt(8) == 0) {
        call.cancel();
      }
    }

    /** Another thread closes it while this one dispatches. */
    private void race(ReplicaSelection selection) {
      threads.loop(random.nextInt(LOOPS)).execute(selection::close);
      started(selection.start(Request.get("/")));
    }

    private void close(ReplicaSelection selection) {
      if (random.nextBoolean()) {
        selection.close();
      } else {
        threads.loop(random.nextInt(LOOPS)).execute(selection::close);
      }
    }

    private <T> @Nullable T oldOrNew(ArrayDeque<T> from) {
      return random.nextBoolean() ? from.pollFirst() : from.pollLast();
    }

    private <T> boolean with(@Nullable T one, Consumer<T> use) {
      if (one != null) {
        use.accept(one);
      }
      return one != null;
    }
  }

  private static final long NO_DEADLINE = SlotRequest.NO_DEADLINE;

  /** What users do, and how often: mostly asking, and rarely what concerns everyone. */
  private enum Step {
    CALL(80),
    CHOOSE(80),
    DISPATCH(40),
    DISPATCH_AND_CLOSE(10),
    CLOSE(20),
    RENEW(5),
    FORGET(2),
    CANCEL_CALL(4),
    CANCEL_CHOICE(4),
    CHANGE_MAX(1),
    TIME(3),
    SWEEP(1);

    private final int weight;

    Step(int weight) {
      this.weight = weight;
    }
  }

  private static final List<Step> STEPS =
      Stream.of(Step.values()).flatMap(s -> Collections.nCopies(s.weight, s).stream()).toList();

  @Test
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void oneMillionRandomOperationsOverFourEventLoopsLeaveZeroSlotsAndACleanAudit() throws Exception {
    start();
    int each = Effort.times(250_000);
    CountDownLatch finished = new CountDownLatch(LOOPS);
    List<Users> users = new ArrayList<>();
    for (int i = 0; i < LOOPS; i++) {
      users.add(new Users(i, each, finished));
      threads.loop(i).execute(users.get(i));
    }
    while (!finished.await(10, TimeUnit.MILLISECONDS)) {
      timePasses(users, Duration.ofSeconds(1)); // all may be waiting for slots that were forgotten
    }

    everythingEndsAfterTheTtl(users);

    threads.rethrow();
    for (int i = 0; i < LOOPS; i++) {
      replicas.get(i).slots().audit();
      LedgerView view = replicas.get(i).view();
      assertThat(view.running() + view.reserved()).as("slots in use, %s", view).isZero();
      assertThat(view.audit()).as("audit of %s", view).isEqualTo(LedgerView.Audit.CLEAN);
      assertThat(view.granted())
          .isEqualTo(view.completed() + view.released() + view.expired())
          .isPositive();
      assertThat(routers.loop(i).pendingRequests()).as("pending on loop %d", i).isZero();
      assertThat(routers.loop(i).deadlines()).as("deadlines on loop %d", i).isZero();
      assertThat(plane.replicas(i).invocations()).as("invocations on loop %d", i).isZero();
      assertThat(users.get(i).underWay.get()).as("unanswered on loop %d", i).isZero();
    }
    HandleCounters counters = router.counters;
    assertThat(counters.selected.sum()).as("selections").isEqualTo(counters.unselected.sum());
    assertThat(counters.sent.sum())
        .as("requests sent")
        .isEqualTo(counters.ended.sum() + counters.turnedAway.sum());
    assertThat(counters.running()).as("gauge of running requests").isZero();
    assertThat(counters.reserved()).as("gauge of reserved slots").isZero();
    assertThat(router.queued()).as("waiters").isZero();
    assertThat(routers.bounds.queued()).as("requests in the instance's bound").isZero();
    everythingHappened(users);
  }

  /** Leaves what was forgotten to its time to live, and the rest to its loops. */
  private void everythingEndsAfterTheTtl(List<Users> users) throws InterruptedException {
    replicas.forEach(replica -> replica.setMaxOngoing(SLOTS));
    for (int turn = 0; turn < 2_000; turn++) {
      timePasses(users, Duration.ofMillis(50));
    }
  }

  private void timePasses(List<Users> users, Duration time) throws InterruptedException {
    clock.advance(time);
    plane.host.sweep(0, 1, mismatch -> {});
    CountDownLatch ticked = new CountDownLatch(LOOPS);
    for (Users user : users) {
      threads
          .loop(user.index)
          .execute(
              () -> {
                plane.tick(user.index);
                ticked.countDown();
              });
    }
    assertThat(ticked.await(1, TimeUnit.MINUTES)).as("loops turn").isTrue();
  }

  private void everythingHappened(List<Users> users) {
    HandleCounters counters = router.counters;
    assertThat(counters.requests()).as("requests").isPositive();
    assertThat(router.dispatchGaps).as("dispatches").anyMatch(loop -> loop.count() > 0);
    assertThat(counters.undispatched.sum()).as("selections closed").isPositive();
    assertThat(counters.selectionsExpired.sum()).as("selections left to the TTL").isPositive();
    assertThat(router.handOffs()).as("slots handed over").isPositive();
    assertThat(users.stream().mapToLong(user -> user.routed).sum())
        .as("requests routed")
        .isPositive();
    for (Step step : Step.values()) {
      long taken = users.stream().mapToLong(user -> user.done[step.ordinal()]).sum();

      assertThat(taken).as(step.name()).isPositive();
    }
  }
}
