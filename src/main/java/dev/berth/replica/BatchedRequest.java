package dev.berth.replica;

import dev.berth.api.BatchItem;
import dev.berth.replica.batch.BatchEntry;
import org.jspecify.annotations.Nullable;

/** A request in a batch of its replica, or in line for one. */
final class BatchedRequest extends BatchEntry implements HandlerCall {
  final LoopReplica part;
  final Invocation invocation;
  final BatchItem item;
  private final BatchRunner runner;
  volatile BatchRunner.@Nullable BatchRun run;

  BatchedRequest(
      BatchRunner runner,
      LoopReplica part,
      Invocation invocation,
      BatchItem item,
      String key,
      long now,
      int items,
      long bytes) {
    super(
        key,
        now - invocation.waitedNanos(),
        invocation.deadline == InvocationContext.NEVER
            ? InvocationContext.NEVER
            : now + invocation.deadline - invocation.loop.now(),
        items,
        bytes);
    this.runner = runner;
    this.part = part;
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
  public void ended() {
    runner.table.finished(this);
  }
}
