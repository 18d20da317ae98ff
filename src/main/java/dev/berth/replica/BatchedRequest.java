package dev.berth.replica;

import dev.berth.api.BatchItem;
import dev.berth.replica.batch.BatchEntry;
import org.jspecify.annotations.Nullable;

/** A request in a batch of its replica, or in line for one. */
final class BatchedRequest extends BatchEntry implements HandlerCall {
  final HandlerInvoker invoker;
  final HandledRequest invocation;
  final BatchItem item;
  private final BatchRunner runner;
  volatile BatchRunner.@Nullable BatchRun run;

  BatchedRequest(
      BatchRunner runner,
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
    this.runner = runner;
    this.invoker = invoker;
    this.invocation = invocation;
    this.item = item;
  }

  @Override
  public boolean cancel() {
    if (runner.table.withdraw(this)) {
      return true;
    }
    BatchRunner.BatchRun started = run;
    return started != null && started.abandon(this);
  }

  @Override
  public boolean outlastsSettling() {
    return true;
  }

  @Override
  public void onEnded() {
    runner.table.finished(this);
  }
}
