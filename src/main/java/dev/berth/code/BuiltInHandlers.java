package dev.berth.code;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;

/**
 * The port to the handlers of the built-in applications {@code berth:proxy} and {@code
 * berth:openai}, which this package does not know. Thread-safe.
 */
@FunctionalInterface
public interface BuiltInHandlers {
  /** A port without handlers: the application cannot be built. */
  BuiltInHandlers NONE =
      deployment -> {
        throw new StartFailedException(
            "import_path: berth:proxy or berth:openai (expected: an instance that serves upstreams)");
      };

  /**
   * Returns the factory of a deployment's handlers.
   *
   * @throws StartFailedException when the instance has none
   */
  HandlerFactory of(DeploymentId deployment);
}
