package dev.berth.replica;

import dev.berth.api.BlockingHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.replica.log.RequestLogFields;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A run of a blocking handler, with one request unless a subclass has several. A cancel interrupts
 * the thread only while it runs user code: a pooled thread must not carry the interrupt into the
 * next request.
 *
 * <pre>
 *   QUEUED --worker--> RUNNING --worker--> DONE
 *     |                   +--canceller--> INTERRUPTING --canceller--> DONE
 *     +--canceller--> DONE                                        never runs
 * </pre>
 */
class BlockingCall implements Runnable, HandledRequest.HandlerCall {
  private enum BlockingCallPhase {
    QUEUED,
    RUNNING,
    INTERRUPTING,
    DONE
  }

  private final ReplicaHandler handler;
  private final @Nullable Request request; // null in a subclass
  private final HandledRequest invocation;
  private final AtomicReference<BlockingCallPhase> phase =
      new AtomicReference<>(BlockingCallPhase.QUEUED);
  private volatile @Nullable ResponseOutput writing;
  private @Nullable Thread thread; // written before RUNNING, read after it

  BlockingCall(BlockingHandler handler, Request request, HandledRequest invocation) {
    this.handler = handler;
    this.request = request;
    this.invocation = invocation;
  }

  /** Creates the call of a subclass with its own {@link #handle} and {@link #onSettled}. */
  BlockingCall(ReplicaHandler handler, HandledRequest invocation) {
    this.handler = handler;
    this.request = null;
    this.invocation = invocation;
  }

  /** Runs user code. */
  @Nullable Response handle() throws Exception {
    return ((BlockingHandler) handler).handle(Objects.requireNonNull(request), invocation);
  }

  /** Handles the end of user code, on its thread. */
  void onSettled(@Nullable Response response, @Nullable Throwable failure) {
    invocation.complete(response, failure);
  }

  /** Runs the handler. Called once, on a thread that may block. */
  @Override
  public void run() {
    Thread worker = Thread.currentThread();
    thread = worker;
    if (!phase.compareAndSet(BlockingCallPhase.QUEUED, BlockingCallPhase.RUNNING)) {
      return; // cancelled before it ran; the canceller settles it
    }
    RequestLogFields.beginOnThread(invocation);
    worker.setContextClassLoader(handler.getClass().getClassLoader()); // as for hooks
    Response response = null;
    Throwable failure = null;
    try {
      response = handle();
    } catch (Throwable thrown) { // user code: its slot must become free after any exception
      failure = thrown;
    }
    if (response != null
        && response.body() instanceof Response.Body.Output output
        && phase.get() == BlockingCallPhase.RUNNING) {
      write(response, output.producer());
      response = null;
    }
    if (!phase.compareAndSet(BlockingCallPhase.RUNNING, BlockingCallPhase.DONE)) {
      while (phase.get() == BlockingCallPhase.INTERRUPTING) {
        Thread.onSpinWait(); // the canceller is between two instructions
      }
    }
    Thread.interrupted(); // an interrupt of this call must not reach the next
    RequestLogFields.endOnThread();
    ResponseOutput written = writing;
    if (written == null) {
      onSettled(response, failure);
    } else {
      written.finish();
    }
  }

  /**
   * Responds with a body that this thread then writes, during which a cancel can still interrupt
   * it.
   */
  private void write(Response response, Response.BlockingProducer producer) {
    ResponseOutput output = new ResponseOutput();
    writing = output;
    Response answer = response.withBody(new Response.Body.Produced(output));
    invocation
        .ports()
        .loop()
        .execute(
            () -> {
              invocation.settle(answer, null);
              output.onSettled();
            });
    output.produce(producer);
  }

  /** Returns whether the response was passed on and this call writes its body. */
  @Override
  public boolean outlastsSettling() {
    return writing != null;
  }

  /** Prevents the handler from running. Returns false when it has begun. */
  boolean withdraw() {
    return phase.compareAndSet(BlockingCallPhase.QUEUED, BlockingCallPhase.DONE);
  }

  @Override
  public boolean cancel() {
    if (withdraw()) {
      return true;
    }
    if (phase.compareAndSet(BlockingCallPhase.RUNNING, BlockingCallPhase.INTERRUPTING)) {
      Thread running = thread;
      if (running != null) {
        running.interrupt();
      }
      phase.set(BlockingCallPhase.DONE);
    }
    return false;
  }
}
