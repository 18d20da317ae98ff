package dev.berth.simulation;

import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** How far a request is: what a fault meets. */
enum Phase {
  /** Waiting for a slot, or the offer of one on its way. */
  QUEUE,
  /** A reserve was sent, or a renewal. */
  RESERVE,
  /** A selection is held. */
  HELD,
  /** A held slot is given back unused. */
  RELEASE,
  /** Sent for any free slot, and not yet running. */
  DISPATCH,
  /** Sent on a held slot, and not yet running. */
  CONSUME,
  /** Running, or its answer on the way. */
  RESPOND,
  /** Its head has come; the body is on the way. */
  STREAM,
  /** Over for its caller; the replica is to be told. */
  REVOKE;

  /** Phases with messages of their own. */
  static final Set<Phase> MESSAGES =
      Collections.unmodifiableSet(EnumSet.complementOf(EnumSet.of(HELD)));

  /** Phases in which a caller waits for an answer. */
  static final Set<Phase> ASKED =
      Collections.unmodifiableSet(EnumSet.of(QUEUE, RESERVE, DISPATCH, CONSUME, RESPOND, STREAM));

  /** Phases in which a request is its caller's. */
  static final Set<Phase> OWNED =
      Collections.unmodifiableSet(
          EnumSet.of(QUEUE, RESERVE, HELD, DISPATCH, CONSUME, RESPOND, STREAM));

  /** The phase that a message belongs to. */
  static Phase of(BusMessage message) {
    if (message instanceof BusMessage.CallRequest call) {
      return call.admission() instanceof Admission.Token ? CONSUME : DISPATCH;
    }
    if (message instanceof BusMessage.CallAccepted || message instanceof BusMessage.CallRefused) {
      return DISPATCH;
    }
    if (message instanceof BusMessage.ReserveSlot
        || message instanceof BusMessage.RenewLease
        || message instanceof BusMessage.SlotReserved) {
      return RESERVE;
    }
    if (message instanceof BusMessage.ReleaseSlot || message instanceof BusMessage.ReplicaLoad) {
      return RELEASE;
    }
    if (message instanceof BusMessage.SlotOffer) {
      return QUEUE;
    }
    if (message instanceof BusMessage.CancelCall) {
      return REVOKE;
    }
    if (message instanceof BusMessage.CallResponse response) {
      return response.streamed() ? STREAM : RESPOND;
    }
    boolean whole =
        message instanceof BusMessage.CallFailed || message instanceof BusMessage.RecallCall;
    return whole ? RESPOND : STREAM;
  }
}
