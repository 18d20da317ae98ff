package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Status of an application, for operators.
 *
 * @param name of the application
 * @param routePrefix HTTP path prefix; null without HTTP
 * @param ingress deployment that serves its requests; empty until its code has been built
 * @param status state of the application
 * @param message reason of the state, for people; may be empty
 * @param deployedMs acceptance time of the desired state, in milliseconds since 1970
 * @param revision increases with each accepted change of the desired state
 * @param rollbackRevision target of a rollback without a number; null if there is none
 * @param config entry as submitted, a JSON object; null if it was not submitted
 * @param externalScalerEnabled whether callers of the API may set the number of replicas
 * @param deployments of its code, in the order of the code
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
    List<DeploymentDetails> deployments) {}
