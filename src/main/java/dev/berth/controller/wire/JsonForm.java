package dev.berth.controller.wire;

import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Command;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.ProbeUpstream;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.ShareUpstream;
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
import dev.berth.controller.ControllerEvent.UpstreamProbed;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The JSON form of the messages of one direction between instances: the object of their record. Its
 * {@code kind} names the record, and {@code targets} lists each referenced target once, for any
 * number of replicas. Unknown members are ignored, so that members can be added.
 *
 * @param <M> common type of the messages
 */
public final class JsonForm<M> {
  /** Commands of a controller for other instances. */
  public static final JsonForm<Command> COMMANDS =
      new JsonForm<>(
          List.of(
              Build.class,
              DiscardBuild.class,
              StartReplica.class,
              ShareUpstream.class,
              ProbeUpstream.class,
              ReconfigureReplica.class,
              StopReplica.class,
              Configure.class,
              Remember.class,
              Forget.class,
              RouteTo.class,
              SplitEndpoint.class,
              Unroute.class));

  /** Events that other instances send to a controller. */
  public static final JsonForm<ControllerEvent> EVENTS =
      new JsonForm<>(
          List.of(
              ReplicaRunning.class,
              ReplicaFailed.class,
              ReplicaWaits.class,
              UpstreamProbed.class,
              ReplicaReconfigured.class,
              ReconfigureFailed.class,
              UpstreamReport.class,
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

  /** Returns all known message types. */
  Collection<Class<? extends M>> kinds() {
    return kinds.values();
  }

  /**
   * Converts a message to JSON.
   *
   * @throws IllegalArgumentException when its type has no JSON form
   */
  public JsonObject encode(M message) {
    String kind = message.getClass().getSimpleName();
    kind(kind);
    return new JsonWriter().message((Record) message).put(KIND, kind);
  }

  /**
   * Converts JSON to a message.
   *
   * @throws IllegalArgumentException naming the missing or invalid member
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
