package dev.berth.api;

import java.util.Objects;

/**
 * A deployment's full name: deployments are unique within their application.
 *
 * @param application the application's name, not empty
 * @param name the deployment's name, not empty
 */
public record DeploymentId(String application, String name) {
  /**
   * @throws IllegalArgumentException when one is empty
   */
  public DeploymentId {
    requireName("application", application);
    requireName("name", name);
  }

  private static void requireName(String field, String value) {
    if (Objects.requireNonNull(value, field).isEmpty()) {
      throw new IllegalArgumentException(field + ": \"\" (expected: a name that is not empty)");
    }
  }

  /** {@code application#name}, as Ray Serve prints it. */
  @Override
  public String toString() {
    return application + "#" + name;
  }
}
