package dev.berth.routing;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.function.Predicate;

/**
 * A request to the instance that owns a reservation. The request is repeated under one attempt id
 * until it is answered or that instance is lost. It runs no handler; a slot whose reply arrives too
 * late is released by its attempt id. Confined to its loop.
 */
public final class RemoteReservationCall extends RingEntry implements PendingEntry {
  private final RouterLoop loop;
  private final String keeper; // the owner's name on the bus
  private final DeploymentId deployment;
  private final String token;
  private final AskReservation.Wish wish;
  private final long deadlineNanos;
  private final AttemptId attempt;
  private final Promise<BusMessage.Answer> answer = Promise.promise();
  private final long id;
  private int underWay; // sends that may have arrived

  /**
   * Creates a request that is not sent yet. Call on the loop.
   *
   * @param keeper the owner's name on the bus
   * @param deadlineNanos the deadline of the reply on the loop's clock, or {@link
   *     SlotRequest#NO_DEADLINE}
   */
  public RemoteReservationCall(
      RouterLoop loop,
      String keeper,
      DeploymentId deployment,
      String token,
      AskReservation.Wish wish,
      long deadlineNanos) {
    this.loop = loop;
    this.keeper = keeper;
    this.deployment = deployment;
    this.token = token;
    this.wish = wish;
    this.deadlineNanos = deadlineNanos;
    this.attempt = loop.nextAttempt();
    this.id = loop.pending().add(this);
  }

  /**
   * Sends the request. Call on the loop.
   *
   * @return the reply; fails with a {@link ReservationException}
   */
  public Future<BusMessage.Answer> start() {
    if (id == PendingTable.FULL) {
      end(ReservationProblem.FULL);
    } else {
      ask();
    }
    return answer.future();
  }

  private void ask() {
    long accept = loop.acceptMicros(deadlineNanos);
    boolean sent =
        loop.ports
            .bus()
            .send(
                keeper,
                BusAddresses.router(keeper, 0),
                new AskReservation(id, loop.address, attempt, deployment, token, wish, accept))
            .isSent();
    underWay += sent ? 1 : 0;
    if (underWay == 0) {
      end(ReservationProblem.KEEPER_UNREACHED);
      return;
    }
    long again = loop.now() + loop.limits.recallNanos();
    loop.ring().schedule(this, SlotRequest.earlier(deadlineNanos, again));
  }

  @Override
  protected void deadlinePassed(long now) {
    if (loop.isPast(deadlineNanos)) {
      end(ReservationProblem.KEEPER_UNREACHED);
    } else {
      ask();
    }
  }

  @Override
  public boolean onReply(BusMessage.Answer given) {
    if (!(given instanceof BusMessage.CallRefused refused)) {
      leave();
      answer.complete(given);
    } else if (refused.reason() == Refusal.TOO_LATE && --underWay > 0) {
      return true; // this send was too late, and another may have arrived
    } else {
      end(DispatchRefusalMapping.asReservation(refused.reason()));
    }
    return true;
  }

  @Override
  public void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood) {
    if (forGood && gone.test(new ReplicaAddress(keeper, 0, 0, 0))) {
      end(ReservationProblem.KEEPER_LOST);
    }
  }

  private void leave() {
    loop.ring().cancel(this);
    loop.pending().remove(id);
  }

  private void end(ReservationProblem why) {
    leave();
    answer.fail(ReservationException.of(why));
  }
}
