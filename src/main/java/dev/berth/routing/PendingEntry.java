package dev.berth.routing;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import java.util.function.Predicate;

/** What waits for an answer of a replica, under an id of a {@link PendingTable}. On its loop. */
interface PendingEntry {

  /**
   * Takes an answer that came under its id.
   *
   * @return false when it is not one that it asked for
   */
  boolean answered(BusMessage.Answer answer);

  /**
   * Answers of these replicas will not come.
   *
   * @param forGood whether they are known to be no more; else only the link is, and they may live
   */
  void lost(Predicate<ReplicaAddress> gone, boolean forGood);
}
