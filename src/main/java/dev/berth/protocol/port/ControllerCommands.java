package dev.berth.protocol.port;

import dev.berth.protocol.ServeDetails;
import io.vertx.core.Future;

/**
 * What operators may ask of the controller. Commands are carried out one after the other; one that
 * succeeds is durable by then, and what it asks for comes true later. Those that change nothing for
 * a reason fail with {@link CommandRefused}. Call on the control event loop; it completes there.
 *
 * <p>Source: Ray Serve's REST API, and what it has no word for.
 */
public interface ControllerCommands {

  /**
   * Declares everything: applications that it does not name are deleted. All or nothing.
   *
   * @param config Ray Serve's ServeDeploySchema, as JSON or YAML
   */
  Future<Void> deploy(String config);

  /**
   * Declares one application, and leaves the others.
   *
   * @param application its name; one inside {@code config} must be the same
   * @param config an entry of {@code applications}, as JSON or YAML
   */
  Future<Void> deploy(String application, String config);

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
   * Declares again what last ran healthy before what is declared now.
   *
   * @return the revision that is wanted from now on
   */
  Future<Long> rollback(String application);

  /** What is wanted, and what is there. */
  Future<ServeDetails> details();

  /** Starts the controller anew; requests and replicas do not notice. */
  Future<Void> restartController();

  /** Begins the drain of the instance, at whose end the process ends; completes when begun. */
  Future<Void> drain();
}
