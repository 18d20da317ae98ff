package dev.berth.routing;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;

/** Receives the one result of a choose, on its loop. */
public interface SelectionObserver {
  /** Delivers a selection, whose slot is held for the receiver to dispatch or close. */
  void onSelection(ReplicaSelection selection);

  /** Delivers the failure; no slot is held. */
  void onFailure(BerthException failure);
}
