package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;

/** Who gets the one answer of a choose, on its loop. */
public interface SelectionObserver {
  /** Chosen: a slot is held for the receiver, who dispatches or closes it. */
  void onSelection(ReplicaSelection selection);

  /** Nothing is held. */
  void onFailure(BerthException failure);
}
