package dev.berth.cluster.http;

import dev.berth.admin.DigestedFile.DiskFailure;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The control node, and how it is asked. Belongs to the control loop.
 *
 * @param known null while it is not
 * @param heard whether its controller is
 * @param authority that this node follows, as {@link CommandGate} compares it
 */
public record ControlNode(
    Vertx vertx,
    PeerClient client,
    Supplier<@Nullable NodeInfo> known,
    BooleanSupplier heard,
    Supplier<String> authority) {
  /** How long nothing may come of an answer: a change may wait for those before it. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** How often what was asked is given up where nothing is heard: it may stand still. */
  private static final long LOOK_MS = 1_000;

  static final int MOST_TRIES = 8;

  private static final long FIRST_PAUSE_MS = 200;
  private static final long LONGEST_PAUSE_MS = 5_000;

  /** Begins a request of an operator's. */
  Future<HttpClientRequest> ask(NodeInfo peer, HttpMethod method, String path) {
    return client
        .request(peer, method, path, PATIENCE)
        .onSuccess(
            asked -> {
              asked.putHeader(CommandGate.AUTHORITY, authority.get());
              long looks = vertx.setPeriodic(LOOK_MS, look -> giveUp(asked));
              asked.response().onComplete(answered -> vertx.cancelTimer(looks));
            });
  }

  private void giveUp(HttpClientRequest asked) {
    if (!heard.getAsBoolean()) {
      asked.reset();
    }
  }

  /**
   * Gets something.
   *
   * @param status that is expected
   * @param headers names and values, in turn
   * @return the answer's head; its body stands still. Fails also while there is no control node,
   *     which may come: one that starts anew commands before it is a node itself
   */
  Future<HttpClientResponse> get(int status, String path, String... headers) {
    NodeInfo peer = known.get();
    return peer == null
        ? Future.failedFuture(new IOException("the control node is not known (expected: it is)"))
        : client
            .send(peer, path, PeerClient.ANSWER, headers)
            .compose(
                response ->
                    response.statusCode() == status
                        ? Future.succeededFuture(response)
                        : Future.failedFuture(unexpected(peer, path, response)));
  }

  private static Throwable unexpected(NodeInfo peer, String path, HttpClientResponse response) {
    response.exceptionHandler(reset -> {}).request().reset();
    String why =
        "%s: status %s for %s".formatted(PeerClient.name(peer), response.statusCode(), path);
    return response.statusCode() / 100 == 4
        ? new CommandRefused(Kind.NOT_FOUND, why)
        : new IOException(why);
  }

  /**
   * Asks again while that may help, which it does not where something is refused, or the disk is
   * full: after 0.2 s, and then after twice as long each time, at most 5 s; {@value #MOST_TRIES}
   * times in all, over 16 s.
   */
  <T> Future<T> again(Supplier<Future<T>> attempt) {
    return attempt(attempt, 1);
  }

  private <T> Future<T> attempt(Supplier<Future<T>> attempt, int number) {
    return attempt
        .get()
        .recover(
            failed -> {
              if (number == MOST_TRIES
                  || failed instanceof CommandRefused
                  || failed instanceof DiskFailure) {
                return Future.failedFuture(failed);
              }
              long pause = Math.min(FIRST_PAUSE_MS << (number - 1), LONGEST_PAUSE_MS);
              return vertx
                  .timer(pause, TimeUnit.MILLISECONDS)
                  .compose(passed -> attempt(attempt, number + 1));
            });
  }
}
