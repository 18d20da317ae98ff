package dev.berth.api;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The deployments of one application, which may call one another. The ingress deployment serves the
 * application's route. Immutable.
 *
 * <p>The method that {@code import_path} names builds the application. This method is static,
 * returns an {@code Application}, and has either no parameter or one {@code Map<String, Object>},
 * which receives the configuration's {@code args}.
 */
public final class Application {
  private final String ingress;
  private final List<Deployment> deployments;

  private Application(String ingress, List<Deployment> deployments) {
    this.ingress = ingress;
    this.deployments = List.copyOf(deployments);
    Set<String> names = new HashSet<>();
    for (Deployment deployment : deployments) {
      if (!names.add(deployment.name())) {
        throw new IllegalArgumentException(
            "deployments: two named " + deployment.name() + " (expected: unique names)");
      }
    }
    if (!names.contains(ingress)) {
      throw new IllegalArgumentException(
          "ingress: " + ingress + " (expected: one of " + names + ")");
    }
  }

  /**
   * Creates an application from its ingress deployment and further deployments; names are unique.
   */
  public static Application of(Deployment ingress, Deployment... others) {
    List<Deployment> all = new ArrayList<>(List.of(others));
    all.add(0, ingress);
    return new Application(ingress.name(), all);
  }

  /** Returns a copy with other deployments; one must have the name of the ingress. */
  public Application withDeployments(List<Deployment> deployments) {
    return new Application(ingress, deployments);
  }

  /** Returns the name of the deployment that serves the route. */
  public String ingress() {
    return ingress;
  }

  /** Returns all deployments, the ingress included. */
  public List<Deployment> deployments() {
    return deployments;
  }
}
