package dev.berth.view;

import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Operator commands for the controller. Commands run one after the other. A command that succeeds
 * is durable, and the controller then applies it asynchronously. A rejected command changes nothing
 * and fails with {@link CommandRejectedException}. Confined to the control loop; futures complete
 * there.
 *
 * <p>Source: Ray Serve's REST API, with additions.
 */
public interface ControllerCommands {

  /** Header of a deploy with the name of the deployed file. */
  String FILE = "Berth-File";

  /** Header with the idempotency key of a command, which permits a retry. */
  String ID = "Idempotency-Key";

  /**
   * Returns the same commands with an idempotency key. A deploy, delete, scale or rollback that is
   * repeated with its key within 10 minutes changes nothing. The repetition gets the first result,
   * even if the process restarted in between. Restart and drain are harmless to repeat.
   *
   * @param id random text of 1 to 128 characters; a different command with the same id is rejected.
   *     Null for none
   */
  ControllerCommands once(@Nullable String id);

  /**
   * Payload of a deploy.
   *
   * @param application name of the only application, which {@code config} may repeat but not
   *     change; null for all applications
   * @param config Ray Serve's ServeDeploySchema, or an entry of its {@code applications}; JSON or
   *     YAML
   * @param file source of the config, {@code file://host/real/path}; null if unknown
   * @param prunes whether to delete all applications that are not named; otherwise, only those are
   *     deleted whose last submission came from {@code file}
   * @param revision latest revision known to the caller, which must still be the latest; null for
   *     no check
   * @param dryRun whether only to report the changes
   */
  record DeployRequest(
      @Nullable String application,
      String config,
      @Nullable String file,
      boolean prunes,
      @Nullable Long revision,
      boolean dryRun) {}

  /**
   * Deploys all applications of a file, or one application without changes to others. All or
   * nothing.
   *
   * @return the changes; empty for a command that was repeated
   */
  Future<DeployOutcome> deploy(DeployRequest what);

  /** Deletes all applications. */
  Future<Void> deleteAll();

  /** Deletes one application. */
  Future<Void> delete(String application);

  /**
   * Sets the number of replicas of a deployment whose application has {@code
   * external_scaler_enabled}.
   *
   * @param replicas 0 or more
   */
  Future<Void> scale(String application, String deployment, int replicas);

  /**
   * Sets the number of replicas of a deployment that is autoscaled, or scaled externally as in
   * {@link #scale}. Pauses autoscaling.
   *
   * @param replicas null to resume autoscaling from the last number
   * @return whether the deployment is autoscaled
   */
  Future<Boolean> pause(String application, String deployment, @Nullable Integer replicas);

  /**
   * Rolls an application back to an earlier revision.
   *
   * @param to target revision; null for the latest one that differs from the current declaration
   * @param dryRun whether only to report the change
   * @return the new desired revision; for a dry run, the revision that would be restored
   */
  Future<Long> rollback(String application, @Nullable Long to, boolean dryRun);

  /**
   * Replaces weights in {@code berth.traffic} of an application, without changes to its replicas.
   *
   * @param weights new weights by deployment; others stay
   * @return the new desired revision
   */
  Future<Long> split(String application, Map<String, Double> weights);

  /**
   * Replaces weights in the split of one of {@code berth.endpoints}.
   *
   * @param weights new weights by {@code application#deployment}; others stay
   * @return the number of the change
   */
  Future<Long> splitEndpoint(String route, Map<String, Double> weights);

  /** Returns the desired revision, and earlier ones that a rollback can restore. */
  Future<List<RevisionDetails>> history(String application);

  /** Returns the desired and the actual state. */
  Future<ServeDetails> details();

  /**
   * Returns the autoscaling state of a deployment, with the last decisions and their reasons.
   *
   * @return creates the JSON; may be called on any thread
   */
  Future<Supplier<JsonObject>> autoscaling(String application, String deployment);

  /** Restarts the controller, without effect on requests and replicas. */
  Future<Void> restartController();

  /**
   * Starts to drain the instance, after which its process ends. Completes when the drain has begun.
   */
  Future<Void> drain();
}
