package dev.berth.routing.reserve;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation.Wish;
import dev.berth.protocol.BusMessage.ReservationRenewed;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HeldSelection;
import dev.berth.routing.KeeperAsk;
import dev.berth.routing.Leg;
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
 * Which instance keeps what a token holds, as the token says, and what is asked of it.
 *
 * <pre>
 *   SECRET                      of an instance by itself: 192 bits
 *   SECRET.DEPLOYMENT.KEEPER    of a node: the deployment in Base64, and the node's mark
 * </pre>
 *
 * @param ownMark what names this instance and its registration; empty while it has none
 * @param nodeOf the name on the bus of a mark's instance; null when that is lost
 */
public record Keepers(Supplier<String> ownMark, UnaryOperator<@Nullable String> nodeOf) {
  /** Of an instance by itself. */
  public static final Keepers NONE = new Keepers(() -> "", mark -> null);

  private static final Base64.Encoder TEXT = Base64.getUrlEncoder().withoutPadding();
  private static final int TOKEN_BYTES = 24;

  /** How long a renewal or a release is answered in. */
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

  /** Differs for any two: the length says where the application's name ends. */
  private static String named(DeploymentId deployment) {
    String text = deployment.application().length() + ":" + deployment;
    return TEXT.encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Whose slot a token that names its keeper holds; null when it does not, or none is known. */
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
   * The name on the bus of the instance that keeps what a token holds; null when it says of none.
   *
   * @throws ReservationException when that is lost
   */
  @Nullable String of(String token) {
    int mark = token.indexOf('.', token.indexOf('.') + 1) + 1;
    if (mark == 0) {
      return null;
    }
    String node = nodeOf.apply(token.substring(mark));
    if (node == null) {
      throw ReservationException.of(Problem.KEEPER_LOST);
    }
    return node;
  }

  // --- what is asked of them ---

  /**
   * The slot of a token, for a request that starts now. On the loop.
   *
   * @param leg the deployment that it is wanted for
   */
  static Future<HeldSelection> use(
      RouterLoop loop, String keeper, String token, Leg leg, long deadlineNanos) {
    DeploymentId of = leg.router().deployment();
    return new KeeperAsk(loop, keeper, of, token, Wish.USE, deadlineNanos)
        .start()
        .map(
            answer -> {
              HeldSelection slot = HeldSelection.of(leg, loop, (SlotReserved) answer);
              if (slot == null) {
                throw ReservationException.of(Problem.REPLICA_GONE);
              }
              return slot;
            });
  }

  static Future<Reservation> renew(RouterLoop loop, String keeper, DeploymentId of, String token) {
    return asked(loop, keeper, of, token, Wish.RENEW)
        .map(
            answer -> {
              ReservationRenewed now = (ReservationRenewed) answer;
              long ttl = TimeUnit.MICROSECONDS.toNanos(now.ttlMicros());
              return new Reservation(
                  token, of, now.replicaId(), now.nodeId(), now.host(), now.port(), ttl, ttl);
            });
  }

  /** Succeeds when it is released. */
  static Future<Void> release(RouterLoop loop, String keeper, DeploymentId of, String token) {
    return asked(loop, keeper, of, token, Wish.RELEASE)
        .<Void>mapEmpty()
        .recover(
            why ->
                why instanceof ReservationException told && told.problem() == Problem.RELEASED
                    ? Future.succeededFuture()
                    : Future.failedFuture(why));
  }

  private static Future<BusMessage.Answer> asked(
      RouterLoop loop, String keeper, DeploymentId of, String token, Wish wish) {
    Promise<BusMessage.Answer> answer = Promise.promise();
    loop.run(
        () ->
            new KeeperAsk(loop, keeper, of, token, wish, loop.now() + ANSWER_WITHIN_NANOS)
                .start()
                .onComplete(answer));
    return answer.future();
  }
}
