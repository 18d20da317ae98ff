package dev.berth.api;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A deployment as code declares it. Values set in the configuration file override these.
 *
 * @param name unique within the application
 * @param numReplicas replicas to keep running, >= 1; default 1
 * @param maxOngoingRequests slots per replica, 1 to 65 535; default 5, as Ray Serve
 * @param spreadOverLoops one handler object per event loop behind one ledger; for handlers that
 *     keep no state across loops; default false
 * @param userConfig passed to the factory's context; default empty
 * @param factory makes the handler
 */
public record Deployment(
    String name,
    int numReplicas,
    int maxOngoingRequests,
    boolean spreadOverLoops,
    Map<String, Object> userConfig,
    HandlerFactory factory) {
  /** Ray Serve's default of {@code max_ongoing_requests}. */
  public static final int DEFAULT_MAX_ONGOING_REQUESTS = 5;

  /** The widest count a ledger holds. */
  public static final int MAX_ONGOING_REQUESTS_LIMIT = 65_535;

  public Deployment {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(factory, "factory");
    userConfig = Collections.unmodifiableMap(new LinkedHashMap<>(userConfig)); // nulls are values
    if (numReplicas < 1) {
      throw new IllegalArgumentException("numReplicas: " + numReplicas + " (expected: >= 1)");
    }
    if (maxOngoingRequests < 1 || maxOngoingRequests > MAX_ONGOING_REQUESTS_LIMIT) {
      throw new IllegalArgumentException(
          "maxOngoingRequests: " + maxOngoingRequests + " (expected: 1 to 65535)");
    }
  }

  /** A deployment of one replica with default settings. */
  public static Deployment of(String name, HandlerFactory factory) {
    return new Deployment(name, 1, DEFAULT_MAX_ONGOING_REQUESTS, false, Map.of(), factory);
  }

  public Deployment withNumReplicas(int replicas) {
    return new Deployment(name, replicas, maxOngoingRequests, spreadOverLoops, userConfig, factory);
  }

  public Deployment withMaxOngoingRequests(int requests) {
    return new Deployment(name, numReplicas, requests, spreadOverLoops, userConfig, factory);
  }

  public Deployment withSpreadOverLoops(boolean spread) {
    return new Deployment(name, numReplicas, maxOngoingRequests, spread, userConfig, factory);
  }

  public Deployment withUserConfig(Map<String, Object> config) {
    return new Deployment(name, numReplicas, maxOngoingRequests, spreadOverLoops, config, factory);
  }
}
