package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.Load;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handlers that block: off the loop, interrupted by a cancel, and by nothing else. */
@Timeout(20)
class BlockingHandlerTest {
  private static final long ID = callId(1, 1);

  private final ReplicaRig rig = new ReplicaRig();

  @Test
  void itRunsOffTheLoopAndItsAnswerHopsBack() {
    AtomicInteger calls = new AtomicInteger();
    BlockingHandler handler =
        (request, context) -> {
          calls.incrementAndGet();
          return Response.text("ok");
        };
    Replica replica = rig.start(1, handler);

    rig.sendHeld(replica, ID);
    assertThat(calls).hasValue(0);
    assertThat(rig.workers.runAll()).isEqualTo(1);
    assertThat(calls).hasValue(1);

    // The test is the loop's thread, so the worker's answer needed no hop; see the thread test.
    assertThat(rig.answer(CallResponse.class).body().toString()).isEqualTo("ok");
    assertAtRest(replica.slots());
  }

  @Test
  void whatItThrowsIsAFailedCall() {
    BlockingHandler handler =
        (request, context) -> {
          throw new java.io.IOException("secret");
        };
    Replica replica = rig.start(1, handler);

    rig.sendHeld(replica, ID);
    rig.runAll();

    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(failed.message()).doesNotContain("secret");
    assertThat(Load.ongoing(failed.load())).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void nullIsAFailedCall() {
    BlockingHandler handler = (request, context) -> null;
    Replica replica = rig.start(1, handler);

    rig.sendHeld(replica, ID);
    rig.runAll();

    rig.answer(CallFailed.class);
    assertAtRest(replica.slots());
  }

  @Test
  void cancelledBeforeItsThreadCameItNeverRunsAndItsSlotIsFreeAtOnce() {
    AtomicInteger calls = new AtomicInteger();
    BlockingHandler handler =
        (request, context) -> {
          calls.incrementAndGet();
          return Response.text("ok");
        };
    Replica replica = rig.start(1, handler);
    rig.sendHeld(replica, ID);

    rig.cancel(replica, ID);

    assertAtRest(replica.slots());
    rig.runAll();
    assertThat(calls).hasValue(0);
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void aThreadThatCannotBeHadIsAFailedCall() {
    BlockingHandler handler = (request, context) -> Response.text("ok");
    Replica replica = rig.start(1, handler);
    HandlerThreads pool = new HandlerThreads.Pool("r", 1);
    pool.stop();
    HostedReplica part =
        new HostedReplica(
            replica,
            rig.loop(),
            HandlerInvoker.of(handler, pool),
            Map.of(),
            new KnownHandles(name -> null));
    rig.loop().host(part);

    rig.sendHeld(replica, ID);

    rig.answer(CallFailed.class);
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelInterruptsItsThreadAndTheSlotComesBackWhenItReturns() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    CountDownLatch mayReturn = new CountDownLatch(1);
    BlockingHandler handler =
        (request, context) -> {
          running.countDown();
          try {
            new CountDownLatch(1).await();
          } catch (InterruptedException expected) {
            interrupted.countDown();
          }
          mayReturn.await();
          return Response.text("late");
        };
    Replica replica = rig.start(1, handler);
    rig.sendHeld(replica, ID);
    Thread worker = new Thread(rig.workers::runAll);
    worker.start();
    running.await();

    rig.cancel(replica, ID);
    interrupted.await();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    mayReturn.countDown();
    worker.join();
    rig.runAll();

    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void aHandlerThatIgnoresItsInterruptStaysAZombie() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    AtomicBoolean mayReturn = new AtomicBoolean();
    BlockingHandler handler =
        (request, context) -> {
          running.countDown();
          while (!mayReturn.get()) {
            Thread.onSpinWait();
          }
          return Response.text("late");
        };
    Replica replica = rig.start(1, handler);
    rig.sendHeld(replica, ID);
    Thread worker = new Thread(rig.workers::runAll);
    worker.start();
    running.await();

    rig.cancel(replica, ID);
    rig.pass(java.time.Duration.ofNanos(ReplicaLimits.DEFAULTS.cancelGraceNanos()));
    assertThat(replica.zombies()).isEqualTo(1);

    mayReturn.set(true);
    worker.join();
    rig.runAll();
    assertThat(replica.zombies()).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aPooledThreadNeverCarriesAnInterruptIntoTheNextRequest() throws Exception {
    ReplicaRig busy = new ReplicaRig();
    HandlerThreads.Pool pool = new HandlerThreads.Pool("pooled", 1);
    List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    AtomicInteger served = new AtomicInteger();
    BlockingHandler handler =
        (request, context) -> {
          if (Thread.currentThread().isInterrupted() && !context.cancelled()) {
            wrong.add("interrupted without a cancel");
          }
          served.incrementAndGet();
          return Response.text("ok");
        };
    Replica replica = busy.start(1, handler);
    busy.loop()
        .host(
            new HostedReplica(
                replica,
                busy.loop(),
                HandlerInvoker.of(handler, pool),
                Map.of(),
                new KnownHandles(name -> null)));
    for (int i = 0; i < 2_000; i++) {
      while (replica.slots().ongoing() > 0) {
        busy.tasks.runAll();
        Thread.onSpinWait();
      }
      busy.sendHeld(replica, callId(1, i));
      if (i % 2 == 0) {
        busy.cancel(replica, callId(1, i)); // before, while, or after it runs
      }
    }
    while (replica.slots().ongoing() > 0) {
      busy.tasks.runAll();
      Thread.onSpinWait();
    }
    pool.stop();

    assertThat(wrong).isEmpty();
    assertThat(served.get()).isGreaterThanOrEqualTo(1_000);
    assertAtRest(replica.slots());
  }

  @Test
  void thePoolsThreadsAreDaemonsNamedAfterTheReplica() throws Exception {
    HandlerThreads.Pool pool = new HandlerThreads.Pool("app#echo#1", 2);
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    pool.execute(() -> thread.complete(Thread.currentThread()));

    Thread made = thread.get(10, TimeUnit.SECONDS);
    assertThat(made.getName()).isEqualTo("berth-app#echo#1-1");
    assertThat(made.isDaemon()).isTrue();
    pool.stop();
  }

  @Test
  void aResizedPoolRunsAsManyAtOnceAsItsReplicaHasSlots() throws Exception {
    HandlerThreads.Pool pool = new HandlerThreads.Pool("r", 1);
    pool.resize(3);
    CountDownLatch together = new CountDownLatch(3);
    for (int i = 0; i < 3; i++) {
      pool.execute(
          () -> {
            together.countDown();
            try {
              together.await();
            } catch (InterruptedException stopped) {
              Thread.currentThread().interrupt();
            }
          });
    }
    assertThat(together.await(10, TimeUnit.SECONDS)).isTrue();
    pool.resize(1);
    CompletableFuture<String> after = new CompletableFuture<>();
    pool.execute(() -> after.complete("ran"));
    assertThat(after.get(10, TimeUnit.SECONDS)).isEqualTo("ran");
    pool.stop();
  }

  @Test
  void aThreadPerCallIsVirtualExactlyWhereTheJvmHasThem() throws Exception {
    boolean has = Runtime.version().feature() >= 21;
    HandlerThreads threads = HandlerThreads.create("r", 1);

    assertThat(threads instanceof HandlerThreads.Virtual).isEqualTo(has);
    CompletableFuture<String> ran = new CompletableFuture<>();
    threads.execute(() -> ran.complete("ran"));
    assertThat(ran.get(10, TimeUnit.SECONDS)).isEqualTo("ran");
    threads.stop();
  }
}
