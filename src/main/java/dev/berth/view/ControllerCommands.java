package dev.berth.view;

import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What operators may ask of the controller. Commands are carried out one after the other; one that
 * succeeds is durable by then, and what it asks for comes true later. Those that change nothing for
 * a reason fail with {@link CommandRefused}. Call on the control event loop; it completes there.
 *
 * <p>Source: Ray Serve's REST API, and what it has no word for.
 */
public interface ControllerCommands {

  /** The header of a deploy that says which file is deployed. */
  String FILE = "Berth-File";

  /** The header of a command that says which one it is, so that it can be sent again. */
  String ID = "Idempotency-Key";

  /**
   * The same commands, to be given once: a deploy, a delete, a scale or a rollback that is accepted
   * and then given again with its id within 10 minutes changes nothing, and is answered as it was
   * first, though the process ended in between. To restart or to drain again does no harm.
   *
   * @param id chosen at random, 1 to 128 characters; another command with it is refused. Null for
   *     none
   */
  ControllerCommands once(@Nullable String id);

  /**
   * What is to be declared.
   *
   * @param application its name, and one inside {@code config} must be the same; null for
   *     everything
   * @param config Ray Serve's ServeDeploySchema, or an entry of its {@code applications}; JSON or
   *     YAML
   * @param file which says exactly that, {@code file://host/real/path}; null when it is not known
   * @param prunes whether every application goes that is not named; else those alone of which
   *     {@code file} said last what was last submitted
   * @param revision the last one given, as it was when this was decided; null for any
   * @param dryRun whether nothing is to be done but said
   */
  record Submitted(
      @Nullable String application,
      String config,
      @Nullable String file,
      boolean prunes,
      @Nullable Long revision,
      boolean dryRun) {}

  /**
   * Declares what a file says, or one application, which leaves the others. All or nothing.
   *
   * @return of a command that was given before, no applications
   */
  Future<DeployOutcome> deploy(Submitted what);

  /** Deletes every application. */
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
   * Sets the number of replicas of a deployment, be it autoscaled or, as {@link #scale}, set from
   * outside. Autoscaling is paused by it.
   *
   * @param replicas null for autoscaling to go on, with the last number
   * @return whether the deployment is autoscaled
   */
  Future<Boolean> pause(String application, String deployment, @Nullable Integer replicas);

  /**
   * Declares again a revision that ran earlier.
   *
   * @param to which; null for the last that says something else than what is declared now
   * @param dryRun whether nothing is to be done but said
   * @return the revision that is wanted from now on, or of a dry run the one that would be declared
   *     again
   */
  Future<Long> rollback(String application, @Nullable Long to, boolean dryRun);

  /**
   * Declares an application as it is with another {@code berth.traffic}; nothing of its replicas
   * changes.
   *
   * @param weights in place of those said, by deployment
   * @return the revision that is wanted from now on
   */
  Future<Long> split(String application, Map<String, Double> weights);

  /**
   * Gives one of {@code berth.endpoints} another split.
   *
   * @param weights in place of those said, by {@code application#deployment}
   * @return the number of that change
   */
  Future<Long> splitEndpoint(String route, Map<String, Double> weights);

  /** The revision that is wanted, and those that ran earlier and can be gone back to. */
  Future<List<RevisionDetails>> history(String application);

  /** What is wanted, and what is there. */
  Future<ServeDetails> details();

  /**
   * How a deployment follows its load, with the last decisions and their reasons.
   *
   * @return makes JSON of it, on any thread
   */
  Future<Supplier<JsonObject>> autoscaling(String application, String deployment);

  /** Starts the controller anew; requests and replicas do not notice. */
  Future<Void> restartController();

  /** Begins the drain of the instance, at whose end the process ends; completes when begun. */
  Future<Void> drain();
}
