package dev.berth.desired;

import dev.berth.controller.ControllerEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/** Changes that came true when nobody waited for them any more. */
final class Missed {
  private Missed() {}

  /**
   * What the controller is told of them.
   *
   * @param told the state that it knows
   * @param now what is applied
   */
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
    boolean capacity = Objects.equals(told.head().targetCapacity(), now.head().targetCapacity());
    return each ->
        capacity
            && each.equals(told.find(each.name()))
            && told.autoscaled().of(each.name()).equals(now.autoscaled().of(each.name()));
  }
}
