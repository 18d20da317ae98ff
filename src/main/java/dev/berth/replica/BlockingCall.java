package dev.berth.replica;

import dev.berth.api.BlockingHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One run of a blocking handler. Cancelling interrupts its thread while it runs user code, and at
 * no other time: a pooled thread must not carry the interrupt into the next request.
 *
 * <pre>
 *   QUEUED --worker--> RUNNING --worker--> DONE
 *     |                   +--canceller--> INTERRUPTING --canceller--> DONE
 *     +--canceller--> DONE                                        never runs
 * </pre>
 */
final class BlockingCall implements Runnable {
  private enum Phase {
    QUEUED,
    RUNNING,
    INTERRUPTING,
    DONE
  }

  private final BlockingHandler handler;
  private final Request request;
  private final Invocation invocation;
  private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.QUEUED);
  private @Nullable Thread thread; // written before RUNNING, read after it

  BlockingCall(BlockingHandler handler, Request request, Invocation invocation) {
    this.handler = handler;
    this.request = request;
    this.invocation = invocation;
  }

  /** Runs the handler. Called once, on a thread that may block. */
  @Override
  public void run() {
    thread = Thread.currentThread();
    if (!phase.compareAndSet(Phase.QUEUED, Phase.RUNNING)) {
      return; // cancelled before it ran; cancel() has settled it
    }
    Response response = null;
    Throwable failure = null;
    try {
      response = handler.handle(request, invocation);
    } catch (Throwable thrown) { // user code: whatever it throws, its slot must come back
      failure = thrown;
    }
    if (!phase.compareAndSet(Phase.RUNNING, Phase.DONE)) {
      while (phase.get() == Phase.INTERRUPTING) {
        Thread.onSpinWait(); // the canceller is between two instructions
      }
    }
    Thread.interrupted(); // whatever interrupted this call is over with it
    invocation.complete(response, failure);
  }

  /**
   * Interrupts the handler, or keeps it from running.
   *
   * @return true when it will never run, so that the caller settles it
   */
  boolean cancel() {
    if (phase.compareAndSet(Phase.QUEUED, Phase.DONE)) {
      return true;
    }
    if (phase.compareAndSet(Phase.RUNNING, Phase.INTERRUPTING)) {
      Thread running = thread;
      if (running != null) {
        running.interrupt();
      }
      phase.set(Phase.DONE);
    }
    return false;
  }
}
