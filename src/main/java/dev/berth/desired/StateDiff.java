package dev.berth.desired;

import dev.berth.controller.ControllerEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/** Computes the controller's events for changes that were committed without a waiting caller. */
final class StateDiff {
  private StateDiff() {}

  /** Returns the events that lead from the state that the controller knows to the applied state. */
  static List<ControllerEvent> between(DesiredState told, DesiredState now) {
    List<ControllerEvent> events = new ArrayList<>();
    if (told.index() != now.index()) {
      told.applications().stream()
          .map(DesiredApplication::name)
          .filter(name -> now.find(name) == null)
          .forEach(name -> events.add(new ControllerEvent.Withdrawn(name)));
      now.applications().stream()
          .filter(same(told, now).negate())
          .forEach(each -> events.add(new ControllerEvent.Declared(now.declared(each))));
    }
    return events;
  }

  private static Predicate<DesiredApplication> same(DesiredState told, DesiredState now) {
    boolean capacity = Objects.equals(told.head.targetCapacity(), now.head.targetCapacity());
    return each ->
        capacity
            && each.equals(told.find(each.name()))
            && told.autoscaled.of(each.name()).equals(now.autoscaled.of(each.name()));
  }
}
