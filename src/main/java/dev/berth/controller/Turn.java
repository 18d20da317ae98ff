package dev.berth.controller;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one event touches and asks for: only what it touched is looked at again. */
final class Turn {
  /** Decisions for one deployment in one turn; two or three are usual. */
  private static final int MAX_DECISIONS = 16;

  final long nowNanos;
  final List<ControllerAction> actions = new ArrayList<>();
  private final Set<Fleet> fleets = new LinkedHashSet<>();
  private final Map<Fleet, Integer> decisions = new HashMap<>();
  private final Set<App> apps = new LinkedHashSet<>();

  Turn(long nowNanos) {
    this.nowNanos = nowNanos;
  }

  void add(ControllerAction action) {
    actions.add(action);
  }

  void touch(Fleet fleet) {
    fleets.add(fleet);
  }

  /**
   * Counts one more decision for a deployment. A decision that asks for something is followed by
   * another, which as a rule asks for nothing.
   *
   * @return whether there were too many; it is then not looked at again in this turn
   */
  boolean isEnough(Fleet fleet) {
    boolean enough = decisions.merge(fleet, 1, Integer::sum) >= MAX_DECISIONS;
    return enough && fleets.remove(fleet);
  }

  void touch(App app) {
    apps.add(app);
  }

  @Nullable Fleet nextFleet() {
    return next(fleets);
  }

  @Nullable App nextApp() {
    return next(apps);
  }

  private static <T> @Nullable T next(Set<T> of) {
    var all = of.iterator();
    if (!all.hasNext()) {
      return null;
    }
    T first = all.next();
    all.remove();
    return first;
  }
}
