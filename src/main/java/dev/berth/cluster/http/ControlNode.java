package dev.berth.cluster.http;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientResponse;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The control node, and how it is asked. Belongs to the control loop.
 *
 * @param known null while it is not
 */
public record ControlNode(Vertx vertx, PeerClient client, Supplier<@Nullable Peer> known) {
  static final int MOST_TRIES = 8;

  private static final long FIRST_PAUSE_MS = 200;
  private static final long LONGEST_PAUSE_MS = 5_000;

  /**
   * Gets something, as {@link PeerClient#send}.
   *
   * @return fails while there is no control node, which may come: one that starts anew commands
   *     before it is a node itself
   */
  Future<HttpClientResponse> send(String path, String... headers) {
    Peer peer = known.get();
    return peer == null
        ? Future.failedFuture(new IOException("the control node is not known (expected: it is)"))
        : client.send(peer, path, PeerClient.ANSWER, headers);
  }

  /**
   * Another answer than was expected.
   *
   * @param what was asked for
   */
  Throwable unexpected(HttpClientResponse response, String what) {
    Peer peer = known.get();
    String why = "%s: status %s for %s (expected: it)".formatted(peer, response.statusCode(), what);
    return response.statusCode() / 100 == 4 ? new CodeRefused(why) : new IOException(why);
  }

  /**
   * Asks again while that may help, which it does not where something is refused: after 0.2 s, and
   * then after twice as long each time, at most 5 s; {@value #MOST_TRIES} times in all, over 16 s.
   *
   * @param worth whether another failure may be over the next time
   */
  <T> Future<T> again(Supplier<Future<T>> attempt, Predicate<Throwable> worth) {
    return attempt(attempt, worth, 1);
  }

  private <T> Future<T> attempt(
      Supplier<Future<T>> attempt, Predicate<Throwable> worth, int number) {
    return attempt
        .get()
        .recover(
            failed -> {
              if (number == MOST_TRIES || failed instanceof CodeRefused || !worth.test(failed)) {
                return Future.failedFuture(failed);
              }
              long pause = Math.min(FIRST_PAUSE_MS << (number - 1), LONGEST_PAUSE_MS);
              return vertx
                  .timer(pause, TimeUnit.MILLISECONDS)
                  .compose(passed -> attempt(attempt, worth, number + 1));
            });
  }
}
