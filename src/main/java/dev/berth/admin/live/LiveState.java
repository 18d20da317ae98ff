package dev.berth.admin.live;

import dev.berth.api.DeploymentId;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ClusterDetails;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** State that the feed shows. Confined to the control loop; futures complete there. */
public interface LiveState {

  /** State of a controller on this instance. Each method fails while there is none. */
  interface ControllerState {
    /** Returns all applications, without the configurations of their deployments. */
    ServeDetails applications();

    /** Returns an application with its configurations; null if it does not exist. */
    @Nullable ApplicationDetails application(String name);

    /** Returns the supplier of a deployment's decisions; null if it does not autoscale. */
    @Nullable Supplier<JsonObject> decisions(DeploymentId deployment);

    /** Returns the members of the cluster; null without a cluster. */
    Future<@Nullable ClusterDetails> cluster();
  }

  /** Returns the id of this instance. */
  String node();

  /** Returns whether a controller on another node serves the feed instead. */
  boolean isElsewhere();

  /** Returns the state of the controller. */
  ControllerState controller();

  /** Returns why there is no controller; null if there is one. */
  @Nullable String missing();

  /**
   * Returns the response of a GET request of the admin API, from all nodes that respond. The
   * supplier is slow, and may run on any thread.
   */
  Future<Supplier<JsonObject>> read(String path, MultiMap query);

  /** Returns the split routes of this instance. */
  JsonArray routes();

  /** Returns the counts of reservations on this instance. */
  JsonObject reservations();
}
