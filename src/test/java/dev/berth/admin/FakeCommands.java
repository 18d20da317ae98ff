package dev.berth.admin;

import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ControllerCommands;
import dev.berth.view.DeployOutcome;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.RevisionDetails;
import dev.berth.view.ServeDetails;
import dev.berth.view.StatusTrigger;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A controller that writes down what it is asked for, and answers as it is told to. */
final class FakeCommands implements ControllerCommands {
  /** Each command with its arguments, one after the other. */
  final List<String> asked = new CopyOnWriteArrayList<>();

  /** What every command is refused with; null when it is carried out. */
  volatile @Nullable RuntimeException refusal;

  /** Where a command waits before it is carried out. */
  volatile Future<Void> gate = Future.succeededFuture();

  volatile ServeDetails details = serve();

  /** As if it had just been made. */
  void reset() {
    asked.clear();
    refusal = null;
    gate = Future.succeededFuture();
    details = serve();
  }

  /** An instance with these. */
  static ServeDetails serve(ApplicationDetails... applications) {
    return new ServeDetails(
        "node-1", 3, 1_767_225_600_000L, 1_767_225_700_000L, null, "state", List.of(applications));
  }

  static ApplicationDetails application(
      String name, @Nullable String config, DeploymentDetails... deployments) {
    return new ApplicationDetails(
        name,
        "/" + name,
        deployments.length == 0 ? "" : deployments[0].name(),
        ApplicationStatus.RUNNING,
        "",
        1_767_225_600_250L,
        4,
        3L,
        config,
        true,
        List.of(deployments));
  }

  static DeploymentDetails deployment(String name, Map<String, @Nullable Object> config) {
    return new DeploymentDetails(
        name,
        DeploymentStatus.HEALTHY,
        StatusTrigger.CONFIG_UPDATE_COMPLETED,
        "",
        "v1",
        config,
        2,
        null,
        List.of(replica(name + "#1", ReplicaPhase.RUNNING)),
        List.of());
  }

  static ReplicaDetails replica(String id, ReplicaPhase phase) {
    return new ReplicaDetails(id, "node-1", phase, "v1", 4, true, 1_767_225_600_500L, "", "");
  }

  /** What is in effect when a file says nothing, under Ray Serve's names. */
  static Map<String, @Nullable Object> effective() {
    Map<String, @Nullable Object> values = new LinkedHashMap<>();
    values.put("num_replicas", 2);
    values.put("max_ongoing_requests", 5);
    values.put("max_queued_requests", -1);
    values.put("user_config", null);
    values.put("graceful_shutdown_timeout_s", 20.0);
    values.put("health_check_period_s", 10.0);
    values.put("health_check_timeout_s", 30.0);
    values.put("rolling_update_percentage", 0.2);
    values.put("max_surge_percent", 20);
    return values;
  }

  private Future<Void> carryOut(String command) {
    asked.add(command);
    RuntimeException why = refusal;
    return why == null ? gate : Future.failedFuture(why);
  }

  void refuse(CommandRejectedException.CommandRejectionReason kind, String... problems) {
    refusal = new CommandRejectedException(kind, List.of(problems));
  }

  @Override
  public ControllerCommands once(@Nullable String id) {
    if (id != null) {
      asked.add("once " + id);
    }
    return this;
  }

  @Override
  public Future<DeployOutcome> deploy(DeployRequest what) {
    String all = what.application() == null ? "" : what.application() + " ";
    return carryOut(
            "deploy "
                + all
                + what.config()
                + (what.file() == null ? "" : " of " + what.file())
                + (what.prunes() || what.application() != null ? "" : ", keeps")
                + (what.revision() == null ? "" : ", at " + what.revision())
                + (what.dryRun() ? ", dry" : ""))
        .map(
            new DeployOutcome(
                9,
                List.of(
                    new DeployOutcome.ApplicationChange(
                        "a", DeployOutcome.ApplicationChangeKind.KEPT, 4))));
  }

  @Override
  public Future<Void> deleteAll() {
    return carryOut("delete all");
  }

  @Override
  public Future<Void> delete(String application) {
    return carryOut("delete " + application);
  }

  @Override
  public Future<Void> scale(String application, String deployment, int replicas) {
    return carryOut("scale " + application + " " + deployment + " " + replicas);
  }

  @Override
  public Future<Boolean> pause(String application, String deployment, @Nullable Integer replicas) {
    return carryOut("pause " + application + " " + deployment + " " + replicas).map(true);
  }

  @Override
  public Future<Long> rollback(String application, @Nullable Long to, boolean dryRun) {
    String what = "rollback " + application + (to == null ? "" : " to " + to);
    return carryOut(what + (dryRun ? ", dry" : "")).map(dryRun ? 3L : 7L);
  }

  @Override
  public Future<Long> split(String application, Map<String, Double> weights) {
    return carryOut("split " + application + " " + weights).map(4L);
  }

  @Override
  public Future<Long> splitEndpoint(String route, Map<String, Double> weights) {
    return carryOut("split endpoint " + route + " " + weights).map(5L);
  }

  @Override
  public Future<List<RevisionDetails>> history(String application) {
    return carryOut("history " + application)
        .map(
            List.of(
                new RevisionDetails(
                    3,
                    500,
                    RevisionDetails.State.RAN,
                    "",
                    "d16e",
                    null,
                    List.of("a.jar 5ha"),
                    "{\"name\":\"a\"}")));
  }

  @Override
  public Future<ServeDetails> details() {
    RuntimeException why = refusal;
    return why == null ? Future.succeededFuture(details) : Future.failedFuture(why);
  }

  @Override
  public Future<Supplier<JsonObject>> autoscaling(String application, String deployment) {
    return carryOut("autoscaling " + application + " " + deployment)
        .map(() -> new JsonObject().put("policy_failures", 0));
  }

  @Override
  public Future<Void> restartController() {
    return carryOut("restart controller");
  }

  @Override
  public Future<Void> drain() {
    return carryOut("drain");
  }
}
