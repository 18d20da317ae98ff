package dev.berth.controller;

import java.util.List;

/**
 * What the code of an application gave.
 *
 * @param build identity of the code: equal for equal code and arguments
 * @param ingress the deployment that answers
 * @param targets in the order of the code; settings are the file's over the code's, their number of
 *     replicas at the target capacity
 */
public record BuiltApplication(String build, String ingress, List<DeploymentTarget> targets) {
  public BuiltApplication {
    targets = List.copyOf(targets);
  }
}
