package dev.berth.routing.reserve;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation.Wish;
import dev.berth.protocol.BusMessage.ReservationRenewed;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RemoteReservationCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Finds the instance that owns a token's reservation, and sends requests to it.
 *
 * <pre>
 *   SECRET                      of an instance without a cluster: 192 bits
 *   SECRET.DEPLOYMENT.KEEPER    of a node: the deployment in Base64, and the node's mark
 * </pre>
 *
 * @param ownMark name of this instance and its registration; empty while it has none
 * @param nodeOf maps a mark to the bus name of its instance; null if that is lost
 */
public record ReservationOwners(Supplier<String> ownMark, UnaryOperator<@Nullable String> nodeOf) {
  /** The owners seen by an instance without a cluster. */
  public static final ReservationOwners NONE = new ReservationOwners(() -> "", mark -> null);

  private static final Base64.Encoder TEXT = Base64.getUrlEncoder().withoutPadding();
  private static final int TOKEN_BYTES = 24;

  /** Timeout of a renewal or a release, in nanoseconds. */
  private static final long ANSWER_WITHIN_NANOS = TimeUnit.SECONDS.toNanos(5);

  // --- tokens ---

  String newToken(DeploymentId deployment, LongSupplier secrets) {
    ByteBuffer bytes = ByteBuffer.allocate(TOKEN_BYTES);
    while (bytes.hasRemaining()) {
      bytes.putLong(secrets.getAsLong());
    }
    String secret = TEXT.encodeToString(bytes.array());
    String mark = ownMark.get();
    return mark.isEmpty() ? secret : secret + "." + named(deployment) + "." + mark;
  }

  /**
   * Returns a text that is unique per deployment: the length marks the end of the application's
   * name.
   */
  private static String named(DeploymentId deployment) {
    String text = deployment.application().length() + ":" + deployment;
    return TEXT.encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns the deployment that a token with an owner names; null without one, or if it is unknown.
   */
  static @Nullable DeploymentId deploymentOf(String token, Routers routers) {
    int from = token.indexOf('.') + 1;
    int to = token.indexOf('.', from);
    if (from == 0 || to < 0) {
      return null;
    }
    String name = token.substring(from, to);
    return routers.all().stream()
        .map(DeploymentRouter::deployment)
        .filter(each -> named(each).equals(name))
        .findFirst()
        .orElse(null);
  }

  /**
   * Returns the bus name of the instance that owns a token's reservation; null if the token names
   * none.
   *
   * @throws ReservationException if that instance is lost
   */
  @Nullable String of(String token) {
    int mark = token.indexOf('.', token.indexOf('.') + 1) + 1;
    if (mark == 0) {
      return null;
    }
    String node = nodeOf.apply(token.substring(mark));
    if (node == null) {
      throw ReservationException.of(ReservationProblem.KEEPER_LOST);
    }
    return node;
  }

  // --- requests to the owner ---

  /**
   * Fetches the slot of a token for a request that starts now. Confined to the loop.
   *
   * @param leg names the deployment of the request
   */
  static Future<LeasedSelection> use(
      RouterLoop loop, String keeper, String token, GangMember leg, long deadlineNanos) {
    DeploymentId of = leg.router().deployment();
    return new RemoteReservationCall(loop, keeper, of, token, Wish.USE, deadlineNanos)
        .start()
        .map(
            answer -> {
              LeasedSelection slot = LeasedSelection.of(leg, loop, (SlotReserved) answer);
              if (slot == null) {
                throw ReservationException.of(ReservationProblem.REPLICA_GONE);
              }
              return slot;
            });
  }

  static Future<Reservation> renew(RouterLoop loop, String keeper, DeploymentId of, String token) {
    return sendToOwner(loop, keeper, of, token, Wish.RENEW)
        .map(
            answer -> {
              ReservationRenewed now = (ReservationRenewed) answer;
              long ttl = TimeUnit.MICROSECONDS.toNanos(now.ttlMicros());
              return new Reservation(
                  token, of, now.replicaId(), now.nodeId(), now.host(), now.port(), ttl, ttl);
            });
  }

  /** Releases a reservation; also succeeds if it is released already. */
  static Future<Void> release(RouterLoop loop, String keeper, DeploymentId of, String token) {
    return sendToOwner(loop, keeper, of, token, Wish.RELEASE)
        .<Void>mapEmpty()
        .recover(
            why ->
                why instanceof ReservationException told
                        && told.problem() == ReservationProblem.RELEASED
                    ? Future.succeededFuture()
                    : Future.failedFuture(why));
  }

  private static Future<BusMessage.Answer> sendToOwner(
      RouterLoop loop, String keeper, DeploymentId of, String token, Wish wish) {
    Promise<BusMessage.Answer> answer = Promise.promise();
    loop.run(
        () ->
            new RemoteReservationCall(
                    loop, keeper, of, token, wish, loop.now() + ANSWER_WITHIN_NANOS)
                .start()
                .onComplete(answer));
    return answer.future();
  }
}
