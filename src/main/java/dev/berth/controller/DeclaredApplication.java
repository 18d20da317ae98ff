package dev.berth.controller;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An application as it was accepted and made durable.
 *
 * @param name unique
 * @param revision rises with each accepted change of what is wanted
 * @param routePrefix where it answers; null for an application without HTTP
 * @param config its entry as it was submitted, a JSON object
 * @param externalScalerEnabled whether its numbers of replicas may be set from outside
 * @param deployedMs when it was accepted, in milliseconds since 1970
 * @param rollbackRevision the revision that a rollback would bring back; null when there is none
 * @param scales replicas that were set from outside, by deployment
 * @param autoscaled what is kept of deployments that follow their load, by name
 * @param ran deployments of which replicas have run, of whatever revision, as far as is kept
 * @param failed that it has failed, so that what ran before is built and serves in its place; null
 *     when nothing is known against it
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
    Map<String, Autoscaled> autoscaled,
    Set<String> ran,
    @Nullable Failed failed) {

  /**
   * A revision that is not to be tried again until the next deploy.
   *
   * @param message why, and what serves, for people, one line
   * @param routePrefix where what serves in its place answers; null for one without HTTP
   * @param revision that serves in its place
   */
  public record Failed(String message, @Nullable String routePrefix, long revision) {}

  /** One that has neither run nor failed, and of which nothing was set from outside. */
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

  /** The revision of what is to run. */
  long served() {
    return failed == null ? revision : failed.revision();
  }

  /** Where that which is to run answers; null for an application without HTTP. */
  @Nullable String servedPrefix() {
    return failed == null ? routePrefix : failed.routePrefix();
  }
}
