package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.protocol.BusMessage;
import java.util.HashMap;
import java.util.Map;

/** What replicas answer to recalls, and what meets a recall on its way; of calls elsewhere. */
final class RecallsSeen {
  /** A call, by the address of its router. */
  private record Call(String router, long id) {}

  /** What is known of one that was recalled, or whose cancel was sent. */
  private static final class Seen {
    int underWay; // recalls
    boolean cancelled;
  }

  private final Coverage coverage;
  private final Map<Call, Seen> seen = new HashMap<>();

  RecallsSeen(Coverage coverage) {
    this.coverage = coverage;
  }

  void sent(String address, BusMessage message) {
    if (message instanceof BusMessage.RecallCall recall) {
      of(recall.source().busAddress(), recall.callId()).underWay++;
    } else if (message instanceof BusMessage.CancelCall cancel) {
      Seen call = of(cancel.source().busAddress(), cancel.callId());
      if (call.cancelled) {
        coverage.seen(Transition.CANCEL_REPEATED);
      }
      call.cancelled = true;
    } else if (message instanceof BusMessage.Answer answer) {
      Seen call = seen.get(new Call(address, answer.callId()));
      if (call != null && answer instanceof BusMessage.CallAccepted) {
        coverage.seen(Transition.RECALLED_RUNNING);
      } else if (call != null
          && answer instanceof BusMessage.CallFailed failed
          && failed.kind() == BerthException.Kind.OUTCOME_UNKNOWN) {
        coverage.seen(Transition.RECALLED_UNKNOWN);
      }
    }
  }

  private Seen of(String router, long id) {
    return seen.computeIfAbsent(new Call(router, id), none -> new Seen());
  }

  /** It has come, be it once more. */
  void arrives(String address, BusMessage message) {
    if (message instanceof BusMessage.RecallCall recall) {
      of(recall.source().busAddress(), recall.callId()).underWay--;
    } else if (message instanceof BusMessage.Answer answer) {
      Seen call = seen.get(new Call(address, answer.callId()));
      if (call != null && call.underWay > 0) {
        if (answer instanceof BusMessage.CallAccepted) {
          coverage.seen(Transition.ACCEPTED_CROSSED_ITS_RECALL);
        } else if (answer instanceof BusMessage.CallResponse) {
          coverage.seen(Transition.ANSWER_CROSSED_ITS_RECALL);
        }
      }
    }
  }
}
