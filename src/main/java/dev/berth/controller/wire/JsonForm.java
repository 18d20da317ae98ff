package dev.berth.controller.wire;

import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.SplitEndpoint;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.ReconfigureFailed;
import dev.berth.controller.ControllerEvent.ReplicaDraining;
import dev.berth.controller.ControllerEvent.ReplicaFailed;
import dev.berth.controller.ControllerEvent.ReplicaHealth;
import dev.berth.controller.ControllerEvent.ReplicaReconfigured;
import dev.berth.controller.ControllerEvent.ReplicaRunning;
import dev.berth.controller.ControllerEvent.ReplicaStopped;
import dev.berth.controller.ControllerEvent.ReplicaSuspect;
import dev.berth.controller.ControllerEvent.ReplicaWaits;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * How the messages of one direction cross between instances: as the JSON object of their record,
 * beside which {@code kind} names it and {@code targets} are those that it refers to, each once,
 * however many replicas run it. What is not known in there is passed over, so that it can be added
 * to.
 *
 * @param <M> what they all are
 */
public final class JsonForm<M> {
  /** What a controller wants of other instances than its own. */
  public static final JsonForm<Command> COMMANDS =
      new JsonForm<>(
          List.of(
              Build.class,
              DiscardBuild.class,
              StartReplica.class,
              ReconfigureReplica.class,
              StopReplica.class,
              Configure.class,
              Remember.class,
              Forget.class,
              RouteTo.class,
              SplitEndpoint.class,
              Unroute.class));

  /** What other instances tell a controller. */
  public static final JsonForm<ControllerEvent> EVENTS =
      new JsonForm<>(
          List.of(
              ReplicaRunning.class,
              ReplicaFailed.class,
              ReplicaWaits.class,
              ReplicaReconfigured.class,
              ReconfigureFailed.class,
              ReplicaDraining.class,
              ReplicaHealth.class,
              ReplicaSuspect.class,
              ReplicaStopped.class,
              Inventory.class));

  private static final String KIND = "kind";

  private final Map<String, Class<? extends M>> kinds = new TreeMap<>();

  private JsonForm(List<Class<? extends M>> all) {
    all.forEach(each -> kinds.put(each.getSimpleName(), each));
  }

  /** All that it knows, by name. */
  Collection<Class<? extends M>> kinds() {
    return kinds.values();
  }

  /** Whether it is one of these: others stay in their instance. */
  public boolean has(M message) {
    return kinds.containsValue(message.getClass());
  }

  /**
   * @throws IllegalArgumentException unless it is one of these
   */
  public JsonObject encode(M message) {
    String kind = message.getClass().getSimpleName();
    kind(kind);
    return new JsonWriter().message((Record) message).put(KIND, kind);
  }

  /**
   * @throws IllegalArgumentException naming what is missing, or is none
   */
  public M decode(JsonObject json) {
    JsonReader reader = new JsonReader(json);
    return reader.message(kind(reader.the(KIND, json.getValue(KIND), String.class)));
  }

  private Class<? extends M> kind(String kind) {
    Class<? extends M> type = kinds.get(kind);
    if (type == null) {
      throw new IllegalArgumentException(
          KIND + ": " + kind + " (expected: one of " + kinds.keySet() + ")");
    }
    return type;
  }
}
