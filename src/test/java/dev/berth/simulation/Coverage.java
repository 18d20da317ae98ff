package dev.berth.simulation;

import dev.berth.fakes.RandomMessages;
import dev.berth.protocol.BusMessage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * How often everything happened that must happen somewhere in the suite: transitions of slots,
 * leases and requests, and pairs of fault and phase. A simulation that stops reaching one of them
 * proves less than it says, so the suite fails then.
 */
final class Coverage {
  /**
   * Of the metrics path, of routing state, which {@link RoutingFollowsTest} has, and of
   * reservations at other instances, which {@code KeepersTest} has.
   */
  private static final Set<Class<?>> OF_OTHERS =
      Set.of(
          BusMessage.HandleMetricBatch.class,
          BusMessage.RoutingUpdate.class,
          BusMessage.PullRouting.class,
          BusMessage.CheckRouting.class,
          BusMessage.RepullRouting.class,
          BusMessage.AskReservation.class,
          BusMessage.ReservationRenewed.class);

  private final long[][] faults = new long[Fault.values().length][Phase.values().length];
  private final EnumMap<Transition, Long> transitions = new EnumMap<>(Transition.class);
  private final Map<String, Long> messages = new TreeMap<>();

  /** A fault met something of this phase and changed what came of it. */
  void fault(Fault fault, Phase phase) {
    faults[fault.ordinal()][phase.ordinal()]++;
  }

  void seen(Transition transition) {
    seen(transition, 1);
  }

  void seen(Transition transition, long times) {
    if (times == 0) {
      return;
    }
    transitions.merge(transition, times, Long::sum);
  }

  void sent(BusMessage message, boolean far) {
    if (far) {
      messages.merge(message.getClass().getSimpleName(), 1L, Long::sum);
    }
    Transition.ofMessage(message).ifPresent(this::seen);
  }

  void add(Coverage other) {
    for (int i = 0; i < faults.length; i++) {
      for (int j = 0; j < faults[i].length; j++) {
        faults[i][j] += other.faults[i][j];
      }
    }
    other.transitions.forEach((transition, times) -> seen(transition, times));
    other.messages.forEach((name, times) -> messages.merge(name, times, Long::sum));
  }

  /** What never happened and should have. */
  List<String> missing() {
    List<String> missing = new ArrayList<>();
    for (Transition transition : Transition.values()) {
      if (!transition.isOfBatches() && !transitions.containsKey(transition)) {
        missing.add(transition.name());
      }
    }
    for (Fault fault : Fault.values()) {
      for (Phase phase : fault.phases()) {
        if (faults[fault.ordinal()][phase.ordinal()] == 0) {
          missing.add(fault + " x " + phase);
        }
      }
    }
    for (Class<?> type : RandomMessages.types()) {
      if (!OF_OTHERS.contains(type) && !messages.containsKey(type.getSimpleName())) {
        missing.add("message " + type.getSimpleName());
      }
    }
    return missing;
  }

  /** Returns the transitions that replicas with batches should have reached and have not. */
  List<String> missingOfBatches() {
    return Arrays.stream(Transition.values())
        .filter(each -> each.isOfBatches() && !transitions.containsKey(each))
        .map(Enum::name)
        .toList();
  }

  String table() {
    StringBuilder text = new StringBuilder("transitions\n");
    Map<String, Long> rows = new LinkedHashMap<>();
    for (Transition transition : Transition.values()) {
      rows.put(transition.name(), transitions.getOrDefault(transition, 0L));
    }
    rows.forEach((name, times) -> text.append(String.format("  %-28s %,12d%n", name, times)));
    text.append("messages between instances\n");
    messages.forEach((name, times) -> text.append(String.format("  %-28s %,12d%n", name, times)));
    text.append(String.format("%-16s", "fault x phase"));
    for (Phase phase : Phase.values()) {
      text.append(String.format("%10s", phase));
    }
    text.append('\n');
    for (Fault fault : Fault.values()) {
      text.append(String.format("%-16s", fault));
      for (Phase phase : Phase.values()) {
        boolean possible = fault.phases().contains(phase);
        long times = faults[fault.ordinal()][phase.ordinal()];
        text.append(possible || times > 0 ? String.format("%,10d", times) : "         -");
      }
      text.append('\n');
    }
    return text.toString();
  }
}
