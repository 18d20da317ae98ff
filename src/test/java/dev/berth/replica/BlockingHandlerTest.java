package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.replica.threads.HandlerThreads;
import dev.berth.replica.threads.InstanceHandlerThreads;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.slf4j.MDC;

/** Handlers that block: off the loop, interrupted by a cancel, and by nothing else. */
@Timeout(20)
class BlockingHandlerTest {
  /** JUnit ends with all tests at such an error. */
  @RegisterExtension
  static final InvocationInterceptor ESCAPED =
      new InvocationInterceptor() {
        @Override
        public void interceptTestMethod(
            Invocation<Void> test,
            ReflectiveInvocationContext<Method> context,
            ExtensionContext extension)
            throws Throwable {
          try {
            test.proceed();
          } catch (OutOfMemoryError escaped) {
            throw new AssertionError("a lack of threads was thrown", escaped);
          }
        }
      };

  private static final long ID = callId(1, 1);

  private final ReplicaRig rig = new ReplicaRig();
  private final AtomicInteger calls = new AtomicInteger();
  private final CountDownLatch running = new CountDownLatch(1);
  private final BlockingHandler counting =
      (request, context) -> {
        calls.incrementAndGet();
        return Response.text("ok");
      };

  private final InstanceHandlerThreads factory = new InstanceHandlerThreads(10, 30_000);

  private HandlerThreads pool(String replicaId, int maxOngoing) {
    return factory.create("app", replicaId, maxOngoing, false);
  }

  @AfterEach
  void nothingIsLeft() {
    rig.assertAtRest();
  }

  /** Its threads are those of a pool. */
  private Replica pooled(BlockingHandler handler, HandlerThreads pool) {
    Replica replica = rig.start(1, handler);
    HandlerInvoker invoker = new HandlerInvoker(handler, pool);
    HandleCache none = new HandleCache(name -> null);
    rig.loop().host(new LoopReplica(replica, rig.loop(), invoker, Map.of(), none));
    return replica;
  }

  /** One that runs on a thread of its own by now. */
  private Thread running(BlockingHandler handler) throws InterruptedException {
    rig.sendHeld(rig.start(1, handler), ID);
    Thread worker = new Thread(rig.workers::runAll);
    worker.start();
    running.await();
    return worker;
  }

  private void ends(Thread worker) throws InterruptedException {
    worker.join();
    rig.runAll();
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void itsThreadNamesItsRequestToTheLogAndNothingOfItIsLeftForTheNext() {
    List<Map<String, String>> seen = new ArrayList<>();
    Replica replica =
        rig.start(
            2,
            (BlockingHandler)
                (request, context) -> {
                  seen.add(MDC.getCopyOfContextMap());
                  MDC.put("tenant", "of " + context.requestId());
                  return Response.text("ok");
                });
    rig.sendHeld(replica, ID);
    rig.sendHeld(replica, ID + 1);
    rig.runAll();
    rig.bus.take();
    assertThat(seen).hasSize(2);
    assertThat(seen)
        .allSatisfy(
            fields ->
                assertThat(fields)
                    .containsOnlyKeys("application", "deployment", "replica", "request_id")
                    .containsEntry("replica", replica.replicaId()));
    assertThat(MDC.getCopyOfContextMap()).isNullOrEmpty();
  }

  @Test
  void itRunsOffTheLoopAndItsAnswerHopsBack() {
    rig.sendHeld(rig.start(1, counting), ID);
    assertThat(calls).hasValue(0);
    assertThat(rig.workers.runAll()).isEqualTo(1);
    assertThat(calls).hasValue(1);
    // The test is the loop's thread, so the worker's answer needed no hop; see the thread test.
    assertThat(rig.answer(CallResponse.class).body().toString()).isEqualTo("ok");
  }

  @Test
  void whatItThrowsIsAFailedCall() {
    BlockingHandler handler =
        (request, context) -> {
          throw new IOException("secret");
        };
    rig.settled(rig.busy(1, handler, ID));
    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    assertThat(failed.message()).doesNotContain("secret");
    assertThat(LoadReport.ongoing(failed.load())).isZero();
  }

  @Test
  void cancelledBeforeItsThreadCameItNeverRunsAndItsSlotIsFreeAtOnce() {
    Replica replica = rig.busy(1, counting, ID);
    rig.cancel(replica, ID);
    rig.assertAtRest();
    rig.runAll();
    assertThat(calls).hasValue(0);
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void aCallWithoutAThreadIsRefusedAsNotRun() {
    HandlerThreads pool = pool("r", 1);
    pool.stop();
    rig.sendHeld(pooled(counting, pool), ID);
    assertThat(rig.refusal()).isEqualTo(Refusal.OVERLOADED);
  }

  /** The handler has not run: other routers may try another replica. */
  @Test
  void callsOfAnyRouterAreRefusedWhenTheSystemGivesNoThread() {
    Replica replica = pooled(counting, threadless());
    rig.sendHeld(replica, ID);
    assertThat(rig.refusal()).isEqualTo(Refusal.OVERLOADED);
    rig.send(rig.away(replica).id(ID + 1)); // is not told first that it was accepted
    assertThat(rig.refusal()).isEqualTo(Refusal.OVERLOADED);
    rig.runAll();
    assertThat(calls).hasValue(0);
    assertThat(replica.processedRequests()).isZero();
  }

  @Test
  void aCallWhoseBodyWasGatheredFailsWhenThereIsNoThread() {
    Replica replica = pooled(counting, threadless());
    rig.sendHeld(ReplicaRig.call(replica).id(ID).following(Buffer.buffer("a")));
    rig.bus.take();
    rig.frame(replica, ID, 0, Buffer.buffer("b"), true);
    CallFailed failed = rig.answer(CallFailed.class);
    assertThat(failed.kind()).isEqualTo(BerthException.Kind.BACK_PRESSURE);
    assertThat(LoadReport.ongoing(failed.load())).isZero();
  }

  @Test
  void refusalThatItsLinkDoesNotTakeIsSentOnceWhenItDoes() {
    Replica replica = pooled(counting, threadless());
    rig.bus.acceptOnly(none -> false);
    ReplicaRig.Call call = rig.away(replica).id(ID);
    rig.send(call);
    rig.runAll();
    rig.bus.acceptOnly(any -> true);
    rig.loop()
        .onMessage(new RecallCall(call.callId, ReplicaRig.AWAY, call.attempt, replica.address()));
    assertThat(rig.refusal())
        .as("a recall is told that it did not run")
        .isEqualTo(Refusal.OVERLOADED);
    rig.pass(Duration.ofMillis(25));
    assertThat(rig.refusal()).as("and a caller that waits").isEqualTo(Refusal.OVERLOADED);
  }

  private static HandlerThreads threadless() {
    return new HandlerThreads() {
      @Override
      public void execute(Runnable task) {
        throw new OutOfMemoryError("unable to create native thread");
      }

      @Override
      public void resize(int maxOngoing) {
        // none
      }

      @Override
      public void stop() {
        // none
      }
    };
  }

  /** As a virtual thread may that was queued before the carrier for it could not be made. */
  @Test
  void aCallThatAThreadTookAllTheSameIsNotRefused() {
    Replica replica =
        pooled(
            counting,
            new HandlerThreads() {
              @Override
              public void execute(Runnable task) {
                task.run();
                throw new OutOfMemoryError("unable to create native thread");
              }

              @Override
              public void resize(int maxOngoing) {
                // none
              }

              @Override
              public void stop() {
                // none
              }
            });
    rig.sendHeld(replica, ID);
    assertThat(rig.settled(rig).answer(CallResponse.class).response().status()).isEqualTo(200);
    assertThat(calls).hasValue(1);
  }

  @Test
  void aCancelInterruptsItsThreadAndTheSlotComesBackWhenItReturns() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    CountDownLatch mayReturn = new CountDownLatch(1);
    Thread worker =
        running(
            (request, context) -> {
              running.countDown();
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException expected) {
                interrupted.countDown();
              }
              mayReturn.await();
              return Response.text("late");
            });
    rig.cancel(rig.replica(), ID);
    interrupted.await();
    assertThat(rig.replica().slots().ongoing()).isEqualTo(1);
    mayReturn.countDown();
    ends(worker);
  }

  @Test
  void aHandlerThatIgnoresItsInterruptStaysAZombie() throws Exception {
    AtomicBoolean mayReturn = new AtomicBoolean();
    Thread worker =
        running(
            (request, context) -> {
              running.countDown();
              while (!mayReturn.get()) {
                Thread.onSpinWait();
              }
              return Response.text("late");
            });
    rig.cancel(rig.replica(), ID);
    rig.pass(Duration.ofNanos(ReplicaLimits.DEFAULTS.cancelGraceNanos()));
    assertThat(rig.replica().zombies()).isEqualTo(1);
    mayReturn.set(true);
    ends(worker);
    assertThat(rig.replica().zombies()).isZero();
  }

  @Test
  void aPooledThreadNeverCarriesAnInterruptIntoTheNextRequest() throws Exception {
    HandlerThreads pool = pool("pooled", 1);
    List<String> wrong = Collections.synchronizedList(new ArrayList<>());
    Replica replica =
        pooled(
            (request, context) -> {
              if (Thread.currentThread().isInterrupted() && !context.cancelled()) {
                wrong.add("interrupted without a cancel");
              }
              return counting.handle(request, context);
            },
            pool);
    for (int i = 0; i < 2_000; i++) {
      rig.sendHeld(replica, callId(1, i));
      if (i % 2 == 0) {
        rig.cancel(replica, callId(1, i)); // before, while, or after it runs
      }
      while (replica.slots().ongoing() > 0) {
        rig.tasks.runAll();
        Thread.onSpinWait();
      }
    }
    pool.stop();
    assertThat(wrong).isEmpty();
    assertThat(calls.get()).isGreaterThanOrEqualTo(1_000);
  }

  @Test
  void thePoolsThreadsAreDaemonsNamedAfterTheReplica() throws Exception {
    HandlerThreads pool = pool("app#echo#1", 2);
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    pool.execute(() -> thread.complete(Thread.currentThread()));

    Thread made = thread.get(10, TimeUnit.SECONDS);
    assertThat(made.getName()).isEqualTo("berth-app#echo#1-1");
    assertThat(made.isDaemon()).isTrue();
    pool.stop();
  }

  @Test
  void aResizedPoolRunsAsManyAtOnceAsItsReplicaHasSlots() throws Exception {
    HandlerThreads pool = pool("r", 1);
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
}
