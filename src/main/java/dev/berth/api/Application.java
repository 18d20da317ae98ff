package dev.berth.api;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What an {@code import_path} builds: deployments that may call one another, one of which answers
 * the application's route. The method it names is static, has no parameter or one {@code
 * Map<String, Object>} (the configuration's {@code args}), and returns an Application.
 *
 * @param ingress the name of the deployment that answers the route
 * @param deployments all deployments, the ingress included; names are unique
 */
public record Application(String ingress, List<Deployment> deployments) {
  public Application {
    deployments = List.copyOf(deployments);
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

  /** An application whose first deployment is the ingress. */
  public static Application of(Deployment ingress, Deployment... others) {
    Deployment[] all = new Deployment[others.length + 1];
    all[0] = ingress;
    System.arraycopy(others, 0, all, 1, others.length);
    return new Application(ingress.name(), Arrays.asList(all));
  }
}
