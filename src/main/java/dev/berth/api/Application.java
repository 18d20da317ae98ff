package dev.berth.api;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What an {@code import_path} builds: deployments that may call one another, one of which answers
 * the application's route. The method it names is static, has no parameter or one {@code
 * Map<String, Object>} (the configuration's {@code args}), and returns an Application. Immutable.
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

  /** An application whose first deployment is the ingress; names are unique. */
  public static Application of(Deployment ingress, Deployment... others) {
    List<Deployment> all = new ArrayList<>(List.of(others));
    all.add(0, ingress);
    return new Application(ingress.name(), all);
  }

  /** The same with other deployments, among them one that is named as the ingress is. */
  public Application withDeployments(List<Deployment> deployments) {
    return new Application(ingress, deployments);
  }

  /** The name of the deployment that answers the route. */
  public String ingress() {
    return ingress;
  }

  /** All deployments, the ingress included. */
  public List<Deployment> deployments() {
    return deployments;
  }
}
