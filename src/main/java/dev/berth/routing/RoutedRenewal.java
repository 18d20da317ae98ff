package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import io.vertx.core.Promise;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * A renewal of a lease elsewhere, waiting for its answer. It takes no slot and never queues: what a
 * request does on a refusal, it answers with false.
 */
final class RoutedRenewal extends SlotRequest {
  /** How long an answer is awaited; the lease's own end is not moved by waiting. */
  private static final long ANSWER_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final HeldSelection selection;
  private final Promise<Boolean> renewed;

  private RoutedRenewal(
      DeploymentRouter router,
      RouterLoop loop,
      HeldSelection selection,
      Promise<Boolean> renewed,
      long deadlineNanos) {
    super(router, loop, deadlineNanos);
    this.selection = selection;
    this.renewed = renewed;
  }

  static void start(
      DeploymentRouter router, RouterLoop loop, HeldSelection selection, Promise<Boolean> renewed) {
    long deadline = loop.now() + ANSWER_WITHIN_NANOS;
    RoutedRenewal renewal = new RoutedRenewal(router, loop, selection, renewed, deadline);
    loop.ring.schedule(renewal, deadline);
    renewal.send(selection.replica);
  }

  @Override
  BusMessage message(RoutedReplica to, long id) {
    return new BusMessage.RenewLease(
        id,
        loop.address,
        selection.attempt(),
        to.addressFor(loop.index()),
        Objects.requireNonNull(selection.token),
        selection.ttlMs());
  }

  void reserved(long grantedTtlMs, long load) {
    settle(load);
    selection.extend(loop.now() + grantedTtlMs * 1_000_000);
    answer(true);
  }

  @Override
  void refused(Refusal reason, long load) {
    settle(load);
    answer(false);
  }

  private void answer(boolean result) {
    done = true;
    loop.ring.cancel(this);
    renewed.tryComplete(result);
  }

  @Override
  void peerLost() {
    settle(Load.NONE);
    answer(false);
  }

  @Override
  boolean countsSlot() {
    return false; // its selection does
  }

  @Override
  void unsend(RoutedReplica to) {}

  @Override
  void unsent() {
    answer(false);
  }

  @Override
  void fail(BerthException failure) {
    renewed.tryComplete(false);
  }

  @Override
  void recordSending(RequestRecorder into, RoutedReplica to) {}

  @Override
  void revoke(boolean timedOut) {}

  @Override
  boolean tryOn(RoutedReplica candidate) {
    throw new IllegalStateException("renewal: asked to route (expected: never)");
  }

  @Override
  boolean use(Grant granted) {
    throw new IllegalStateException("renewal: granted a slot (expected: never)");
  }

  @Override
  public boolean accepts(RoutedReplica candidate) {
    return false;
  }

  @Override
  public boolean picky() {
    return true;
  }

  @Override
  public long holdNanos() {
    return 0;
  }

  @Override
  int queuedBytes() {
    return 0;
  }
}
