package dev.berth.controller;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one event touches and asks for: only what it touched is looked at again. */
final class Turn {
  final long nowNanos;
  final List<ControllerAction> actions = new ArrayList<>();
  private final Set<Fleet> fleets = new LinkedHashSet<>();
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
