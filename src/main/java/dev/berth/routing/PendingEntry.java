package dev.berth.routing;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import java.util.function.Predicate;

/**
 * An operation that awaits a replica's reply under an id of a {@link PendingTable}. Confined to its
 * loop.
 */
interface PendingEntry {

  /**
   * Handles a reply that arrived under the entry's id.
   *
   * @return false if the entry expects no such reply
   */
  boolean onReply(BusMessage.Answer answer);

  /**
   * Handles the loss of all replies from matching replicas.
   *
   * @param forGood whether these replicas are known to be dead; otherwise only the link is broken,
   *     and they may be alive
   */
  void onRepliesLost(Predicate<ReplicaAddress> gone, boolean forGood);
}
