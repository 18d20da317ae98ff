package dev.berth.controller;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An application that was accepted and persisted.
 *
 * @param name unique
 * @param revision rises with each accepted change of the declaration
 * @param routePrefix prefix of its route; null for an application without HTTP
 * @param config its entry as submitted, a JSON object
 * @param externalScalerEnabled whether its numbers of replicas may be set from outside
 * @param deployedMs time of acceptance, in milliseconds since 1970
 * @param rollbackRevision revision that a rollback would restore; null when there is none
 * @param scales replicas that were set from outside, by deployment
 * @param autoscaled persisted numbers of autoscaled deployments, by name
 * @param ran deployments whose replicas have run, in any revision, as far as recorded
 * @param failed failure of the revision, with the revision that is built and serves in its place;
 *     null when no failure is known
 */
public record DeclaredApplication(
    String name,
    long revision,
    @Nullable String routePrefix,
    String config,
    boolean externalScalerEnabled,
    long deployedMs,
    @Nullable Long rollbackRevision,
    Map<String, Integer> scales,
    Map<String, AutoscaledReplicaCount> autoscaled,
    Set<String> ran,
    @Nullable FailedRevision failed) {

  /**
   * A failed revision. The controller retries the revision only after the next deploy.
   *
   * @param message cause and the revision that serves instead, for people, one line
   * @param routePrefix route of the revision that serves instead; null for one without HTTP
   * @param revision revision that serves in its place
   */
  public record FailedRevision(String message, @Nullable String routePrefix, long revision) {}

  /** Returns an application that has neither run nor failed, with nothing set from outside. */
  public static DeclaredApplication of(
      String name, long revision, @Nullable String routePrefix, String config, long deployedMs) {
    return new DeclaredApplication(
        name,
        revision,
        routePrefix,
        config,
        false,
        deployedMs,
        null,
        Map.of(),
        Map.of(),
        Set.of(),
        null);
  }

  public DeclaredApplication {
    scales = Collections.unmodifiableMap(new LinkedHashMap<>(scales));
    autoscaled = Map.copyOf(autoscaled);
  }

  /** Returns the revision that should run: the declared one, or its substitute after a failure. */
  long served() {
    return failed == null ? revision : failed.revision();
  }

  /**
   * Returns the route prefix of the revision that should run; null for an application without HTTP.
   */
  @Nullable String servedPrefix() {
    return failed == null ? routePrefix : failed.routePrefix();
  }
}
