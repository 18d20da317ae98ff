package dev.berth.replica;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.BatchedHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.UpstreamNotRun;
import dev.berth.replica.batch.Batch;
import dev.berth.replica.batch.BatchEntry;
import dev.berth.replica.batch.BatchPorts;
import dev.berth.replica.batch.BatchTable;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Calls a replica's handlers with the batches of its {@link BatchTable}, on the loop of the first
 * request or on a thread, and settles the requests on their own loops. Thread-safe.
 */
final class BatchRunner implements BatchPorts {
  private final ReplicaRuntime replica;
  private final BatchSettings first;
  volatile @Nullable LoopDependencies home; // of the timer; set before the first request
  private volatile boolean armed;
  private volatile long armedAt;
  private Runnable disarm = () -> {}; // confined to the home loop
  private final Set<Thread> callers = ConcurrentHashMap.newKeySet(); // threads that call a handler
  final BatchTable table;

  BatchRunner(ReplicaRuntime replica, BatchSettings rules) {
    this.replica = replica;
    this.first = rules;
    this.table = new BatchTable(this::rules, replica.nanoClock, this);
  }

  /** Returns the present rules; the first ones after the section was removed. */
  BatchSettings rules() {
    return Objects.requireNonNullElse(replica.limits().batching(), first);
  }

  // --- requests ---

  /** Adds a request with a whole body. Confined to its loop. */
  void join(
      HandlerInvoker invoker,
      Request request,
      HandledRequest invocation,
      @Nullable BatchGroup seat) {
    BatchSettings now = rules();
    int items;
    try {
      items = Math.max(0, ((BatchedHandler) invoker.handler()).itemSize(request));
    } catch (Throwable thrown) { // user code: its slot must become free after any exception
      invocation.settle(null, thrown);
      giveUp(seat);
      return;
    }
    long bytes = request.body() instanceof Request.Body.Whole whole ? whole.length() : 0;
    String over =
        items > now.maxItems()
            ? "max_batch_items: %s (expected: at most %s)".formatted(items, now.maxItems())
            : bytes > now.maxBytes()
                ? "max_batch_bytes: %s (expected: at most %s)".formatted(bytes, now.maxBytes())
                : "";
    if (!over.isEmpty()) {
      invocation.breakOff(BerthException.Kind.PAYLOAD_TOO_LARGE, over);
      giveUp(seat);
      return;
    }
    BatchedRequest entry =
        new BatchedRequest(
            invoker,
            invocation,
            new BatchItem(request, invocation),
            now.keyOf(invocation.methodName(), request.headers()),
            replica.nanoClock.getAsLong(),
            items,
            bytes);
    invocation.calledBy(entry);
    table.add(entry, seat);
  }

  /** Gives up the seat of a request that does not join its batch. */
  static void giveUp(@Nullable BatchGroup seat) {
    if (seat != null) {
      seat.withdraw();
    }
  }

  // --- effects of the table ---

  @Override
  public void fill(BatchGroup batch) {
    replica.refused.onBatchOpen(batch);
  }

  @Override
  public void onPlaceFreed() {
    replica.refused.onSlotFreed(replica.slots);
  }

  @Override
  public void onLoose() {
    replica.refused.onLoose(replica.slots);
  }

  @Override
  public void wakeIn(long nanos) {
    long at = replica.nanoClock.getAsLong() + Math.max(0, nanos);
    LoopDependencies timing = home;
    if (timing != null && !(armed && armedAt - at <= 0)) {
      timing.loop().run(() -> arm(timing, at));
    }
  }

  private void arm(LoopDependencies on, long at) {
    if (armed && armedAt - at <= 0) {
      return;
    }
    disarm.run();
    armedAt = at;
    armed = true;
    long left = Math.max(0, at - replica.nanoClock.getAsLong());
    disarm =
        on.timer()
            .start(
                left,
                () -> {
                  armed = false;
                  table.look();
                });
  }

  @Override
  public void run(Batch batch) {
    BatchRun run = new BatchRun(batch.entries());
    for (int i = 0; i < run.requests.size(); i++) {
      run.requests.get(i).run = run;
    }
    LoopExecutor loop = run.ports.loop();
    if (callers.contains(Thread.currentThread())) {
      loop.execute(run::callOnce); // a handler that ends at once must not nest the next batch
    } else {
      loop.run(run::callOnce);
    }
  }

  /** Call of a handler with one batch. */
  final class BatchRun {
    private final List<BatchedRequest> requests;
    private final List<BatchItem> items;
    private final HandledRequest first;
    private final LoopDependencies ports; // of the loop of the first request
    private final AtomicInteger wanted;
    private volatile @Nullable BlockingCall call;

    BatchRun(List<BatchEntry> entries) { // without streams: each request pays for this
      int size = entries.size();
      requests = new ArrayList<>(size);
      BatchItem[] all = new BatchItem[size];
      for (int i = 0; i < size; i++) {
        BatchedRequest each = (BatchedRequest) entries.get(i);
        requests.add(each);
        all[i] = each.item;
      }
      items = List.of(all);
      first = requests.get(0).invocation;
      ports = first.ports();
      wanted = new AtomicInteger(size);
    }

    private void callOnce() {
      callers.add(Thread.currentThread());
      try {
        call();
      } finally {
        callers.remove(Thread.currentThread());
      }
    }

    /** Calls the handler. Confined to the loop of the first request. */
    private void call() {
      HandlerInvoker invoker = requests.get(0).invoker;
      BatchCall blocking = // set before the check: the last cancel withdraws it otherwise
          invoker.handler() instanceof BatchHandler handler ? new BatchCall(handler) : null;
      call = blocking;
      if (wanted.get() == 0 && (blocking == null || blocking.withdraw())) {
        settle(null, notRun("cancelled before its batch"));
        return;
      }
      for (BatchedRequest each : requests) {
        each.invocation.ports().loop().run(each.invocation::onBatchStart);
      }
      ports.loop().worksFor(first);
      if (blocking == null) {
        callHere((AsyncBatchHandler) invoker.handler());
        return;
      }
      try {
        invoker.threads().execute(blocking);
      } catch (RejectedExecutionException | OutOfMemoryError noThread) {
        if (blocking.withdraw()) {
          replica.failures.add("no thread for a batch", noThread);
          settle(null, notRun("no thread for a batch"));
        }
      }
    }

    private UpstreamNotRun notRun(String why) {
      return new UpstreamNotRun("replica " + replica.replicaId() + ": " + why, -1);
    }

    private void callHere(AsyncBatchHandler handler) {
      Future<List<BatchResult>> future;
      try {
        future =
            Objects.requireNonNull(
                handler.handle(items), "handler: null (expected: a future of results)");
      } catch (Throwable thrown) { // user code: its slots must become free after any exception
        settle(null, thrown);
        return;
      }
      future.onComplete(this::settle);
    }

    /** Settles the requests, on any thread. */
    private void settle(@Nullable List<BatchResult> results, @Nullable Throwable thrown) {
      List<@Nullable BatchResult> own = Collections.nCopies(requests.size(), null);
      Throwable failure = thrown;
      if (failure == null) {
        try { // user code: the list may compute its elements
          own =
              BatchResult.requireSize(
                  results == null ? null : new ArrayList<>(results), requests.size());
        } catch (Throwable wrong) {
          failure = wrong;
        }
      }
      if (failure != null
          && (failure != thrown || failure instanceof BerthException.HandlerFailed)) {
        replica.failures.add("batch handler failed", failure); // others: each request logs its own
      }
      List<@Nullable BatchResult> each = own;
      Throwable all = failure;
      if (isOnOneLoop()) {
        ports.loop().run(() -> settleHere(each, all));
      } else {
        settleEach(each, all);
      }
    }

    private boolean isOnOneLoop() {
      for (int i = 1; i < requests.size(); i++) {
        if (requests.get(i).invocation.ports() != ports) {
          return false;
        }
      }
      return true;
    }

    /**
     * Frees the slots, so that the waiters of the next batch are on their way, and responds then. A
     * drain ends with the last slot, so that a draining replica responds first.
     */
    private void settleHere(List<@Nullable BatchResult> results, @Nullable Throwable failure) {
      if (requests.size() == 1 || replica.slots.draining()) {
        settleEach(results, failure);
        return;
      }
      int freed = 0;
      List<BatchedRequest> ended = new ArrayList<>(requests.size());
      for (int i = 0; i < requests.size(); i++) {
        BatchResult result = results.get(i);
        Response response = result == null ? null : result.response();
        if (response == null || response.body() instanceof Response.Body.Whole) {
          freed += requests.get(i).invocation.takeSlots();
          ended.add(requests.get(i));
        }
      }
      boolean isOver = false;
      for (BatchedRequest each : ended) {
        isOver |= table.end(each); // first, or the queue could use no slot
      }
      if (freed > 0) {
        replica.settleSlots(freed); // at once, so that the queue looks once
      }
      if (isOver) {
        table.reportFree();
      }
      // The grants are posted by now, and the second task is behind the requests that they send.
      ports.loop().execute(() -> ports.loop().execute(() -> settleEach(results, failure)));
    }

    private void settleEach(List<@Nullable BatchResult> results, @Nullable Throwable failure) {
      for (int i = 0; i < requests.size(); i++) {
        HandledRequest each = requests.get(i).invocation;
        BatchResult result = results.get(i);
        if (requests.size() > 1 && each.ports().loop().isHere()) {
          each.ports().loop().worksFor(each);
        }
        try {
          each.complete(
              result == null ? null : result.response(),
              result == null ? failure : result.failure());
        } catch (RuntimeException unsent) { // the others settle too
          replica.failures.add("a result of a batch could not be sent", unsent);
        }
      }
    }

    /**
     * Records that a request no longer needs its result; interrupts a blocking handler that no
     * request needs. Returns whether the handler will never run.
     */
    boolean abandon(BatchedRequest by) {
      BlockingCall running = call;
      if (by.isAbandoned) {
        return false; // a kill may cancel twice
      }
      by.isAbandoned = true;
      if (wanted.decrementAndGet() > 0 || running == null || !running.cancel()) {
        return false;
      }
      for (BatchedRequest each : requests) {
        if (each != by) {
          each.invocation.complete(null, notRun("cancelled"));
        }
      }
      return true;
    }

    private final class BatchCall extends BlockingCall {
      private final BatchHandler handler;
      private @Nullable List<BatchResult> results;

      BatchCall(BatchHandler handler) {
        super(handler, first);
        this.handler = handler;
      }

      @Override
      @Nullable Response handle() throws Exception {
        results = handler.handle(items);
        return null;
      }

      @Override
      void onSettled(@Nullable Response none, @Nullable Throwable failure) {
        settle(results, failure);
      }
    }
  }

  /** A request in a batch of its replica, or in line for one. */
  private final class BatchedRequest extends BatchEntry implements HandledRequest.HandlerCall {
    final HandlerInvoker invoker;
    final HandledRequest invocation;
    final BatchItem item;
    volatile @Nullable BatchRun run;
    private boolean isAbandoned; // confined to its loop

    BatchedRequest(
        HandlerInvoker invoker,
        HandledRequest invocation,
        BatchItem item,
        String key,
        long now,
        int items,
        long bytes) {
      super(
          key,
          now - invocation.waitedNanos(),
          invocation.remainingNanos() == Long.MAX_VALUE
              ? Long.MAX_VALUE
              : now + invocation.remainingNanos(),
          items,
          bytes);
      this.invoker = invoker;
      this.invocation = invocation;
      this.item = item;
    }

    @Override
    public boolean cancel() {
      if (table.withdraw(this)) {
        return true;
      }
      BatchRun started = run;
      return started != null && started.abandon(this);
    }

    @Override
    public boolean outlastsSettling() {
      return true;
    }

    @Override
    public HandlerTime.@Nullable BatchPlace place() {
      return placeAfter(invocation.waitedNanos());
    }

    @Override
    public void onEnded() {
      table.finished(this);
    }
  }
}
