package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.WINDOW;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.RequestCredit;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams of handlers that block: read and written on their thread, bounded, and interrupted. */
@Timeout(20)
class BlockingStreamTest {
  private static final long ID = callId(1, 1);
  private static final int FRAME = BodyMemoryLimits.MAX_FRAME_BYTES;

  private final ReplicaRig rig = new ReplicaRig();
  private final List<BusMessage> sent = new ArrayList<>();
  private Thread worker;

  @FunctionalInterface
  private interface Code {
    Response run(Request request) throws Exception;
  }

  private static BlockingHandler streaming(Code code) {
    return new BlockingHandler() {
      @Override
      public boolean streamsRequests() {
        return true;
      }

      @Override
      public Response handle(Request request, RequestContext context) throws Exception {
        return code.run(request);
      }
    };
  }

  /** Starts the handler's thread; the test is the loop's. */
  private Replica open(Code code, String first, int window) {
    Replica replica = rig.start(1, streaming(code));
    rig.sendHeld(call(replica).id(ID).window(window).following(Buffer.buffer(first)));
    worker = new Thread(rig.workers::runAll);
    worker.start();
    return replica;
  }

  private Replica open(Code code) {
    return open(code, "", WINDOW);
  }

  /** With an output for an answer. */
  private Replica output(int window, Response.BlockingProducer producer) {
    return open(request -> Response.output("text/plain", producer), "", window);
  }

  private void untilItsSlotIsFree() {
    until(() -> rig.replica().slots().ongoing() == 0);
  }

  private void take() {
    rig.tasks.runAll();
    sent.addAll(rig.bus.take());
  }

  /** Runs the loop until it is so. */
  private void until(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      take();
      assertThat(System.nanoTime() - deadline).as("sent: %s", sent).isNegative();
      Thread.onSpinWait();
    }
  }

  private <M extends BusMessage> M await(Class<M> type) {
    until(() -> sent.stream().anyMatch(type::isInstance));
    return type.cast(sent.stream().filter(type::isInstance).findFirst().orElseThrow());
  }

  private long limit() {
    return sent.stream()
        .filter(RequestCredit.class::isInstance)
        .mapToLong(message -> ((RequestCredit) message).limit())
        .max()
        .orElse(0);
  }

  private long sentBytes() {
    return sent.stream()
        .filter(StreamFrame.class::isInstance)
        .mapToLong(message -> ((StreamFrame) message).data().length())
        .sum();
  }

  @AfterEach
  void nothingIsLeft() throws Exception {
    worker.join();
    rig.runAll();
    rig.assertAtRest();
  }

  @Test
  void theLastBytesOfAnOutputAreSentWithItsEnd() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    output(
        WINDOW,
        out -> {
          begun.await();
          out.write(new byte[] {1, 2, 3});
        });
    await(CallResponse.class);
    begun.countDown();
    worker.join();
    take();

    StreamFrame frame = (StreamFrame) sent.get(sent.size() - 1);
    assertThat(frame.data().length()).isEqualTo(3);
    assertThat(frame.last()).isTrue();
    assertThat(sent).filteredOn(StreamFrame.class::isInstance).hasSize(1);
  }

  @Test
  void itReadsWhatComesAndWaitsForWhatHasNot() {
    AtomicReference<String> read = new AtomicReference<>("");
    Replica replica =
        open(
            request -> {
              byte[] one = new byte[3];
              for (int size; (size = request.input().read(one)) >= 0; ) {
                read.set(read.get() + new String(one, 0, size));
              }
              return Response.text("ok");
            },
            "first",
            WINDOW);
    until(() -> read.get().equals("first"));
    rig.frame(replica, ID, 0, Buffer.buffer("second"), false);
    until(() -> read.get().equals("firstsecond"));
    rig.frame(replica, ID, 1, Buffer.buffer("!"), true);
    assertThat(await(CallResponse.class).response().status()).isEqualTo(200);
    assertThat(read).hasValue("firstsecond!");
  }

  @Test
  void whatWaitsToBeReadIsBoundedByTheWindow() {
    CountDownLatch mayRead = new CountDownLatch(1);
    Replica replica =
        open(
            request -> {
              mayRead.await();
              return Response.text("" + request.input().readAllBytes().length);
            });
    until(() -> limit() == WINDOW);
    for (int i = 0; i < WINDOW / FRAME; i++) {
      rig.frame(replica, ID, i, Buffer.buffer(new byte[FRAME]), false);
    }
    take();
    assertThat(limit()).as("nothing is read").isEqualTo(WINDOW);
    mayRead.countDown();
    until(() -> limit() == 2 * WINDOW);
    rig.frame(replica, ID, WINDOW / FRAME, Buffer.buffer("x"), true);
    assertThat(await(CallResponse.class).body()).hasToString("" + (WINDOW + 1));
  }

  @Test
  void cancellingEndsTheWaitForBytes() {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    CountDownLatch reading = new CountDownLatch(1);
    Replica replica =
        open(
            request -> {
              reading.countDown();
              try {
                request.input().read();
              } catch (IOException | BerthException ended) {
                thrown.set(ended);
                throw ended;
              }
              return Response.text("read");
            });
    until(() -> reading.getCount() == 0);
    rig.cancel(replica, ID);
    untilItsSlotIsFree();
    assertThat(thrown.get()).isNotNull();
  }

  @Test
  void onlyABodyThatItsHandlerWaitsForIsIdle() {
    AtomicReference<String> read = new AtomicReference<>("");
    CountDownLatch works = new CountDownLatch(1);
    Replica replica =
        open(
            request -> {
              read.set(new String(request.input().readNBytes(5)));
              works.await();
              return Response.text("read" + request.input().read());
            },
            "first",
            WINDOW);
    until(() -> read.get().equals("first"));
    Duration idle = Duration.ofNanos(rig.loop().limits.streamIdleTimeoutNanos());
    rig.pass(idle.multipliedBy(2));
    sent.addAll(rig.bus.take());
    assertThat(sent).as("it has other work").noneMatch(CallFailed.class::isInstance);
    works.countDown();
    until(
        () -> {
          rig.pass(idle);
          return sent.stream().anyMatch(CallFailed.class::isInstance);
        });
    assertThat(await(CallFailed.class).kind()).isEqualTo(BerthException.Kind.TIMEOUT);
    untilItsSlotIsFree();
  }

  @Test
  void anOutputWaitsForItsReader() {
    Replica replica =
        output(
            2 * FRAME,
            out -> {
              for (int i = 0; i < 8; i++) {
                out.write(new byte[FRAME]);
              }
              out.write('x');
            });
    until(() -> sentBytes() == 2 * FRAME);
    take();
    assertThat(sentBytes()).as("no more than the reader allowed").isEqualTo(2 * FRAME);
    assertThat(replica.slots().ongoing()).isOne();
    rig.credit(replica, ID, 20 * FRAME);
    until(() -> sentBytes() == 8 * FRAME + 1);
    untilItsSlotIsFree();
    assertThat(((StreamFrame) sent.get(sent.size() - 1)).last()).isTrue();
  }

  @Test
  void anOutputThatThrowsResetsItsStream() {
    Replica replica =
        output(
            WINDOW,
            out -> {
              out.write(new byte[FRAME]);
              throw new IOException("secret");
            });
    assertThat(await(StreamReset.class).message())
        .contains(replica.replicaId())
        .doesNotContain("secret");
  }

  @Test
  void anOutputThatCannotBeginIsAFailedCallAndWaitsForNobody() {
    open(request -> Response.output("a/b", out -> out.write(1)).withHeaders(null));
    assertThat(await(CallFailed.class).kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
    untilItsSlotIsFree();
  }

  @Test
  void cancellingEndsAnOutputThatNobodyReads() {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Replica replica =
        output(
            FRAME,
            out -> {
              try {
                while (true) {
                  out.write(new byte[FRAME]);
                }
              } catch (IOException | BerthException ended) {
                thrown.set(ended);
                throw ended;
              }
            });
    until(() -> sentBytes() == FRAME);
    rig.cancel(replica, ID);
    untilItsSlotIsFree();
    assertThat(thrown.get()).isInstanceOf(BerthException.Cancelled.class);
  }

  @Test
  void cancellingBeforeItsOutputBeginsFreesTheSlot() {
    CountDownLatch running = new CountDownLatch(1);
    Replica replica =
        open(
            request -> {
              running.countDown();
              while (!Thread.interrupted()) { // it takes no notice, and answers all the same
                Thread.onSpinWait();
              }
              return Response.output("text/plain", out -> out.write(new byte[10 * FRAME]));
            });
    until(() -> running.getCount() == 0);
    rig.cancel(replica, ID);
    untilItsSlotIsFree();
    assertThat(sentBytes()).isZero();
  }

  @Test
  void anOutputOfAHandlerOnTheLoopIsAFailedCall() {
    worker = new Thread(() -> {});
    worker.start();
    rig.busy(1, ReplicaRig.answering(Response.output("a/b", out -> out.write(1))), ID);
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(BerthException.Kind.HANDLER_FAILED);
  }
}
