package dev.berth.node;

import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The end of an instance's work, in order. Belongs to the control loop.
 *
 * <pre>
 *   notice -> no new connections -> idle ones close, requests under way end -> replicas drain
 * </pre>
 */
final class InstanceDrain {
  /** How long clients are told of a drain before the listener and idle connections close. */
  private static final Duration NOTICE = Duration.ofMillis(250);

  private final LoopVerticle control;
  private final InstanceParts parts;
  private final Duration limit;
  private final Promise<Void> allGone = Promise.promise(); // replicas

  /**
   * @param limit how long it may take
   */
  InstanceDrain(LoopVerticle control, InstanceParts parts, Duration limit) {
    this.control = control;
    this.parts = parts;
    this.limit = limit;
  }

  /**
   * @param listening whether there are clients to be told
   * @param alsoAwaited what else is to end before the instance does
   * @return completes when nothing is under way; fails with a {@link TimeoutException} when that
   *     takes too long
   */
  Future<Void> begin(boolean listening, Future<?> alsoAwaited) {
    assert control.isHere();
    parts.reservations.drain();
    parts.ingress.drain();
    parts.host.replicas.drainStarts();
    Future<Void> released = parts.role.drains();
    // Every answer now says that its connection will close. Who is about to send on a connection
    // that is idle for an instant learns it so, and is not cut off.
    long notice = listening ? noticeMillis() : 2;
    Future<Void> answered =
        passed(notice / 2)
            .compose(passed -> parts.reservationsOver(limit.dividedBy(2)))
            .compose(
                over -> {
                  parts.ingress.closePort();
                  return passed(notice / 2); // who has just connected asks by then
                })
            .compose(closed -> parts.stopIngress());
    // A request may need replicas that are not its own, so these stay until all requests have
    // ended, or the longest grace has.
    long grace = Math.max(1, parts.host.deployments.longestGrace().toMillis());
    answered
        .timeout(grace, TimeUnit.MILLISECONDS)
        .onComplete(ended -> control.execute(this::withdrawAll));
    return Future.join(answered, allGone.future(), alsoAwaited, released)
        .<Void>mapEmpty()
        .timeout(limit.toMillis(), TimeUnit.MILLISECONDS);
  }

  private Future<Void> passed(long millis) {
    return control.home().owner().timer(millis, TimeUnit.MILLISECONDS).mapEmpty();
  }

  private long noticeMillis() {
    return Math.min(NOTICE.toMillis(), Math.max(2, limit.toMillis() / 10));
  }

  private void withdrawAll() {
    parts.role.withdraw().onComplete(allGone);
  }
}
