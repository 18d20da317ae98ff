package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One application, for operators.
 *
 * @param name of the application
 * @param routePrefix where it answers; null when it has no HTTP
 * @param ingress the deployment that answers; empty while its code has not been built
 * @param status its state
 * @param message why, for people; may be empty
 * @param deployedMs when what is wanted was accepted, in milliseconds since 1970
 * @param revision rises with each accepted change of what is wanted
 * @param rollbackRevision the revision that a rollback would bring back; null when there is none
 * @param config its entry as it was submitted, a JSON object; null when it was not submitted
 * @param externalScalerEnabled whether the number of replicas may be set from outside
 * @param deployments of its code, in its order
 */
public record ApplicationDetails(
    String name,
    @Nullable String routePrefix,
    String ingress,
    ApplicationStatus status,
    String message,
    long deployedMs,
    long revision,
    @Nullable Long rollbackRevision,
    @Nullable String config,
    boolean externalScalerEnabled,
    List<DeploymentDetails> deployments) {
  public ApplicationDetails {
    deployments = List.copyOf(deployments);
  }
}
