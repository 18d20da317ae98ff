package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import java.util.List;

/** Who gets the one answer to several legs, on their loop. */
public interface LegsObserver {
  /** No single leg is to blame. */
  int NO_LEG = -1;

  /** A slot is held for each leg, in the order they were given; the receiver's to end. */
  void onSelections(List<ReplicaSelection> selections);

  /**
   * Nothing is held.
   *
   * @param leg the place of the one that failed, or {@link #NO_LEG}
   */
  void onFailure(BerthException failure, int leg);
}
