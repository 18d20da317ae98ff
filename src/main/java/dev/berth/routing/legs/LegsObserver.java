package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import java.util.List;

/** Receives the one result of several legs, on their loop. */
public interface LegsObserver {
  /** Place of a failure that no single leg caused. */
  int NO_LEG = -1;

  /** Delivers one selection per leg, in the order of the legs; the receiver must end each. */
  void onSelections(List<ReplicaSelection> selections);

  /**
   * Delivers the failure; no slot is held.
   *
   * @param leg the place of the failed leg, or {@link #NO_LEG}
   */
  void onFailure(BerthException failure, int leg);
}
