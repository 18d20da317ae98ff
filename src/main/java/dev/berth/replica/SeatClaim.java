package dev.berth.replica;

import dev.berth.protocol.BatchGroup;
import org.jspecify.annotations.Nullable;

/** The seat of a request that has not joined its batch yet. Confined to the request's loop. */
final class SeatClaim implements HandlerCall {
  private @Nullable BatchGroup group;

  SeatClaim(BatchGroup group) {
    this.group = group;
  }

  /** Returns the batch and passes the seat on; null when it was given up. */
  @Nullable BatchGroup take() {
    BatchGroup taken = group;
    group = null;
    return taken;
  }

  @Override
  public boolean cancel() {
    onEnded();
    return true;
  }

  @Override
  public boolean outlastsSettling() {
    return true;
  }

  @Override
  public void onEnded() {
    BatchGroup left = take();
    if (left != null) {
      left.withdraw();
    }
  }
}
