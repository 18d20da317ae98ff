package dev.berth.cluster.http;

import dev.berth.admin.DigestingFileWriter.DiskFailure;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.view.CommandRejectedException;
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
 * A client of the control node. Resets a request to a control node whose controller is not
 * reachable, by the given supplier. Confined to the control loop.
 *
 * @param known the control node; null while unknown
 * @param authority that this node follows, as {@link CommandGate} compares it
 */
public record ControlNodeClient(
    Vertx vertx,
    PeerClient client,
    Supplier<@Nullable NodeInfo> known,
    BooleanSupplier heard,
    Supplier<String> authority) {
  /** Idle timeout of a response. A change may wait for earlier changes. */
  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(60);

  /**
   * Interval of the check that resets a request while the controller is unreachable, in
   * milliseconds. The control node may be paused.
   */
  private static final long CHECK_INTERVAL_MS = 1_000;

  static final int MAX_TRIES = 8;

  private static final long FIRST_PAUSE_MS = 200;
  private static final long MAX_PAUSE_MS = 5_000;

  /** Opens a request on behalf of an operator. */
  Future<HttpClientRequest> ask(NodeInfo peer, HttpMethod method, String path) {
    return client
        .request(peer, method, path, IDLE_TIMEOUT)
        .onSuccess(
            asked -> {
              asked.putHeader(CommandGate.AUTHORITY, authority.get());
              long looks = vertx.setPeriodic(CHECK_INTERVAL_MS, look -> giveUp(asked));
              asked.response().onComplete(answered -> vertx.cancelTimer(looks));
            });
  }

  private void giveUp(HttpClientRequest asked) {
    if (!heard.getAsBoolean()) {
      asked.reset();
    }
  }

  /**
   * Sends a GET request.
   *
   * @param status expected status
   * @param headers alternating names and values
   * @return the head of the response, with a paused body. Also fails while the control node is
   *     unknown, which a retry may resolve: a restarted control node commands before it is a member
   *     itself
   */
  Future<HttpClientResponse> get(int status, String path, String... headers) {
    NodeInfo peer = known.get();
    return peer == null
        ? Future.failedFuture(new IOException("control node unknown (expected: known)"))
        : client
            .send(peer, path, PeerClient.RESPONSE_IDLE_TIMEOUT, headers)
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
        ? CommandRejectedException.notFound("%s", why)
        : new IOException(why);
  }

  /**
   * Runs an attempt and retries it on failures that may be temporary, which a refusal and a full
   * disk are not. The delay is 0.2 s, doubles with each retry up to 5 s, and there are at most
   * {@value #MAX_TRIES} attempts in over 16 s.
   */
  <T> Future<T> again(Supplier<Future<T>> attempt) {
    return attempt(attempt, 1);
  }

  private <T> Future<T> attempt(Supplier<Future<T>> attempt, int number) {
    return attempt
        .get()
        .recover(
            failed -> {
              if (number == MAX_TRIES
                  || failed instanceof CommandRejectedException
                  || failed instanceof DiskFailure) {
                return Future.failedFuture(failed);
              }
              long pause = Math.min(FIRST_PAUSE_MS << (number - 1), MAX_PAUSE_MS);
              return vertx
                  .timer(pause, TimeUnit.MILLISECONDS)
                  .compose(passed -> attempt(attempt, number + 1));
            });
  }
}
