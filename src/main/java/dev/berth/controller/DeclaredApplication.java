package dev.berth.controller;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
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
 */
public record DeclaredApplication(
    String name,
    long revision,
    @Nullable String routePrefix,
    String config,
    boolean externalScalerEnabled,
    long deployedMs,
    @Nullable Long rollbackRevision,
    Map<String, Integer> scales) {
  public DeclaredApplication {
    scales = Collections.unmodifiableMap(new LinkedHashMap<>(scales));
  }
}
