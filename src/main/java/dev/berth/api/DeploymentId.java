package dev.berth.api;

import java.util.Objects;

/**
 * The full name of a deployment. Deployment names are unique within their application.
 *
 * @param application the application's name, not empty
 * @param name the deployment's name, not empty
 */
public record DeploymentId(String application, String name) {
  /**
   * Creates an id.
   *
   * @throws IllegalArgumentException when a name is empty
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

  /** Returns {@code application#name}, as Ray Serve prints it. */
  @Override
  public String toString() {
    return application + "#" + name;
  }
}
