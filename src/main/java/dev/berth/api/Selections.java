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
 * Replicas chosen together, with a slot held on each: all that were asked for, or none. The slots
 * are taken in one order, by the names of their deployments, whatever order they are asked for in;
 * so requests for several slots never wait for one another in a circle.
 *
 * <p>Each handle's options count for its own selection: method, session, time to live of its lease
 * (at least 1 s here) and the deadline of its dispatch. The waiting has one deadline, the earliest
 * of all timeouts. What comes first is held, and its lease renewed, while the rest is waited for:
 * so ask together only for what is needed together.
 */
public final class Selections {
  private final List<ReplicaSelection> selections;

  /** For a handle, which has chosen them. */
  public Selections(List<ReplicaSelection> selections) {
    this.selections = List.copyOf(selections);
  }

  /**
   * Chooses for each handle, or for none.
   *
   * @param handles one for each slot; a deployment that is named twice gives two slots
   * @return completes on the context of the first handle. Fails with the {@link BerthException} of
   *     the first that failed, and with {@link BerthException.BackPressure} at once when more slots
   *     of a deployment are asked for than its replicas have
   */
  public static Future<Selections> all(List<? extends DeploymentHandle> handles) {
    return startAll(handles).future();
  }

  /** As {@link #all(List)}. */
  public static Future<Selections> all(DeploymentHandle first, DeploymentHandle... others) {
    return all(Stream.concat(Stream.of(first), Stream.of(others)).toList());
  }

  /**
   * As {@link #all(List)}, waiting for no longer than {@code wait}; with zero not at all: where a
   * slot is not free at once there is none.
   */
  public static Future<Selections> all(Duration wait, List<? extends DeploymentHandle> handles) {
    return startAll(wait, handles).future();
  }

  /** As {@link #all(List)}, with a way to cancel. */
  public static Pending<Selections> startAll(List<? extends DeploymentHandle> handles) {
    return first(handles).startChooseAll(handles, Optional.empty());
  }

  /** As {@link #all(Duration, List)}, with a way to cancel. */
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
   * Chooses for each handle, runs {@code use}, and closes what was not dispatched when the future
   * it returns is done, whatever it came to. A failing close never hides a failure of {@code use}.
   */
  public static <T> Future<T> withAll(
      List<? extends DeploymentHandle> handles, Function<Selections, Future<T>> use) {
    return all(handles).compose(chosen -> closing(chosen, use, Selections::close));
  }

  /** Runs {@code use}, and then {@code close}, whose failure never hides one of {@code use}. */
  static <S, T> Future<T> closing(
      S chosen, Function<S, Future<T>> use, Function<S, Future<Void>> close) {
    Future<T> used = Future.succeededFuture(chosen).compose(use); // fails with what it throws
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

  /** In the order of the handles. */
  public List<ReplicaSelection> selections() {
    return selections;
  }

  /** The one of the handle at this place. */
  public ReplicaSelection get(int place) {
    return selections.get(place);
  }

  /** How many. */
  public int size() {
    return selections.size();
  }

  /**
   * Closes each that was not dispatched, as {@link ReplicaSelection#close} does. All are tried; the
   * future fails with the first failure, the others suppressed in it.
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
