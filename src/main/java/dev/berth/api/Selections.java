package dev.berth.api;

import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Replicas chosen together with one slot reserved on each, all or none. Slots are acquired in the
 * order of their deployments' names, independent of the order of the handles. Therefore several
 * concurrent requests of this kind never deadlock.
 *
 * <p>The options of each handle apply to its own selection: method, session, lease time (at least 1
 * s here) and the deadline of its dispatch. The wait has one deadline, the earliest of all
 * timeouts. Slots acquired first stay reserved, with renewed leases, until the last one is granted.
 * Therefore request only slots together that are needed together.
 */
public final class Selections {
  private final List<ReplicaSelection> selections;

  /** Creates an object from selections that a handle has chosen. For implementations of handles. */
  public Selections(List<ReplicaSelection> selections) {
    this.selections = List.copyOf(selections);
  }

  /**
   * Chooses one replica for each handle, all or none.
   *
   * @param handles one for each slot; two handles of one deployment request two slots
   * @return completes on the context of the first handle. Fails with the {@link BerthException} of
   *     the first failed handle. Fails at once with {@link BerthException.BackPressure} when more
   *     slots of a deployment are requested than its replicas have.
   */
  public static Future<Selections> all(List<? extends DeploymentHandle> handles) {
    return startAll(handles).future();
  }

  /** Chooses one replica for each handle, as {@link #all(List)} does. */
  public static Future<Selections> all(DeploymentHandle first, DeploymentHandle... others) {
    return all(Stream.concat(Stream.of(first), Stream.of(others)).toList());
  }

  /**
   * Chooses as {@link #all(List)} does, and waits at most {@code wait}. With zero, the choice fails
   * unless all slots are free at once.
   */
  public static Future<Selections> all(Duration wait, List<? extends DeploymentHandle> handles) {
    return startAll(wait, handles).future();
  }

  /** Starts an {@link #all(List)} that can be cancelled. */
  public static Pending<Selections> startAll(List<? extends DeploymentHandle> handles) {
    return first(handles).startChooseAll(handles, Optional.empty());
  }

  /** Starts an {@link #all(Duration, List)} that can be cancelled. */
  public static Pending<Selections> startAll(
      Duration wait, List<? extends DeploymentHandle> handles) {
    if (wait.isNegative()) {
      throw new IllegalArgumentException("wait: " + wait + " (expected: >= 0)");
    }
    return first(handles).startChooseAll(handles, Optional.of(wait));
  }

  private static DeploymentHandle first(List<? extends DeploymentHandle> handles) {
    if (handles.isEmpty()) {
      throw new IllegalArgumentException("handles: none (expected: at least one)");
    }
    return handles.get(0);
  }

  /**
   * Chooses for each handle, runs {@code use}, and closes the selections that were not dispatched
   * when the future of {@code use} completes, whether it succeeded or failed. A failed close never
   * hides a failure of {@code use}.
   */
  public static <T> Future<T> withAll(
      List<? extends DeploymentHandle> handles, Function<Selections, Future<T>> use) {
    return all(handles).compose(chosen -> closing(chosen, use, Selections::close));
  }

  /** Runs {@code use}, then {@code close}. A failed close never hides a failure of {@code use}. */
  static <S, T> Future<T> closing(
      S chosen, Function<S, Future<T>> use, Function<S, Future<Void>> close) {
    Future<T> used = Future.succeededFuture(chosen).compose(use); // an exception fails the future
    return used.transform(
        done ->
            close
                .apply(chosen)
                .transform(
                    closed -> {
                      if (done.failed()) {
                        suppress(done.cause(), closed.cause());
                      }
                      return used;
                    }));
  }

  private static void suppress(Throwable first, @Nullable Throwable later) {
    if (later != null && later != first) {
      first.addSuppressed(later);
    }
  }

  /** Returns the selections in the order of the handles. */
  public List<ReplicaSelection> selections() {
    return selections;
  }

  /** Returns the selection of the handle at this index. */
  public ReplicaSelection get(int place) {
    return selections.get(place);
  }

  /** Returns the number of selections. */
  public int size() {
    return selections.size();
  }

  /**
   * Closes each selection that was not dispatched, as {@link ReplicaSelection#close} does. All are
   * attempted. The future fails with the first failure, which has the others as suppressed
   * exceptions.
   */
  public Future<Void> close() {
    Future<Void> all = Future.succeededFuture();
    for (Future<Void> each : selections.stream().map(ReplicaSelection::close).toList()) {
      all = all.transform(before -> each.transform(now -> firstFailure(before, now)));
    }
    return all;
  }

  private static Future<Void> firstFailure(AsyncResult<Void> before, AsyncResult<Void> now) {
    if (before.failed()) {
      suppress(before.cause(), now.cause());
      return Future.failedFuture(before.cause());
    }
    return now.failed() ? Future.failedFuture(now.cause()) : Future.succeededFuture();
  }

  @Override
  public String toString() {
    return "Selections" + selections;
  }
}
