package dev.berth.api;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A deployment as code declares it. Values set in the configuration file override these. Immutable.
 */
public final class Deployment {
  /** Ray Serve's default of {@code max_ongoing_requests}. */
  public static final int DEFAULT_MAX_ONGOING_REQUESTS = 5;

  /** The widest count a ledger holds. */
  public static final int MAX_ONGOING_REQUESTS_LIMIT = 65_535;

  private final String name;
  private final int numReplicas;
  private final @Nullable Autoscaling autoscaling;
  private final int maxOngoingRequests;
  private final boolean spreadOverLoops;
  private final Map<String, Object> userConfig;
  private final HandlerFactory factory;

  private Deployment(
      String name,
      int numReplicas,
      @Nullable Autoscaling autoscaling,
      int maxOngoingRequests,
      boolean spreadOverLoops,
      Map<String, Object> userConfig,
      HandlerFactory factory) {
    this.name = Objects.requireNonNull(name, "name");
    this.numReplicas = numReplicas;
    this.autoscaling = autoscaling;
    this.maxOngoingRequests = maxOngoingRequests;
    this.spreadOverLoops = spreadOverLoops;
    this.userConfig = userConfig;
    this.factory = Objects.requireNonNull(factory, "factory");
  }

  /**
   * One whose handler never blocks: one replica, default settings.
   *
   * @param handler shared by all replicas and event loops, so it keeps no state; one that does is
   *     made by a factory, see {@link #of}
   */
  public static Deployment async(String name, AsyncHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return of(name, replica -> handler);
  }

  /** As {@link #async(String, AsyncHandler)}, with a handler that may block. */
  public static Deployment blocking(String name, BlockingHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return of(name, replica -> handler);
  }

  /**
   * One of values: see {@link AsyncHandler#of}, which this makes the handler of all replicas with.
   *
   * @throws IllegalStateException when the application's jars have no Jackson databind
   */
  public static <I, O> Deployment async(String name, Class<I> body, AsyncFunction<I, O> function) {
    return async(name, AsyncHandler.of(body, function));
  }

  /** As {@link #async(String, Class, AsyncFunction)}, with a function that may block. */
  public static <I, O> Deployment blocking(
      String name, Class<I> body, BlockingFunction<I, O> function) {
    return blocking(name, BlockingHandler.of(body, function));
  }

  /**
   * One whose replicas have state: one replica, default settings.
   *
   * @param name unique within the application
   * @param factory makes the handler of each replica
   */
  public static Deployment of(String name, HandlerFactory factory) {
    return new Deployment(name, 1, null, DEFAULT_MAX_ONGOING_REQUESTS, false, Map.of(), factory);
  }

  /** Unique within the application. */
  public String name() {
    return name;
  }

  /**
   * That the number of replicas follows the load. The file says how fast, and all else.
   *
   * @param minReplicas fewest, from 0
   * @param maxReplicas most, at least 1 and {@code minReplicas}
   * @param targetOngoingRequests requests that each replica is to have, above 0
   */
  public record Autoscaling(int minReplicas, int maxReplicas, double targetOngoingRequests) {}

  /** Replicas to keep running; default 1. */
  public int numReplicas() {
    return numReplicas;
  }

  /** How their number follows the load; default null, it does not. */
  public @Nullable Autoscaling autoscaling() {
    return autoscaling;
  }

  /** Slots of each replica; default 5, as Ray Serve. */
  public int maxOngoingRequests() {
    return maxOngoingRequests;
  }

  /**
   * One handler object per event loop behind one ledger, for handlers that keep no state across
   * loops; default false.
   */
  public boolean spreadOverLoops() {
    return spreadOverLoops;
  }

  /** What the factory's context shows; default empty. A value may be null. */
  public Map<String, Object> userConfig() {
    return userConfig;
  }

  /** Makes the handlers. */
  public HandlerFactory factory() {
    return factory;
  }

  /**
   * The same with so many replicas.
   *
   * @param replicas at least 1; else {@link IllegalArgumentException}
   */
  public Deployment withNumReplicas(int replicas) {
    if (replicas < 1) {
      throw new IllegalArgumentException("numReplicas: " + replicas + " (expected: >= 1)");
    }
    return new Deployment(
        name, replicas, null, maxOngoingRequests, spreadOverLoops, userConfig, factory);
  }

  /** The same with as many replicas as the load asks for, in place of a number. */
  public Deployment withAutoscaling(Autoscaling between) {
    return new Deployment(
        name, 1, between, maxOngoingRequests, spreadOverLoops, userConfig, factory);
  }

  /**
   * The same with so many slots for each replica.
   *
   * @param requests 1 to 65 535; else {@link IllegalArgumentException}
   */
  public Deployment withMaxOngoingRequests(int requests) {
    if (requests < 1 || requests > MAX_ONGOING_REQUESTS_LIMIT) {
      throw new IllegalArgumentException(
          "maxOngoingRequests: " + requests + " (expected: 1 to 65535)");
    }
    return new Deployment(
        name, numReplicas, autoscaling, requests, spreadOverLoops, userConfig, factory);
  }

  /** The same, with a handler for each event loop or one for each replica. */
  public Deployment withSpreadOverLoops(boolean spread) {
    return new Deployment(
        name, numReplicas, autoscaling, maxOngoingRequests, spread, userConfig, factory);
  }

  /** The same with a copy of this configuration. */
  public Deployment withUserConfig(Map<String, Object> config) {
    Map<String, Object> copy =
        Collections.unmodifiableMap(new LinkedHashMap<>(config)); // has nulls
    return new Deployment(
        name, numReplicas, autoscaling, maxOngoingRequests, spreadOverLoops, copy, factory);
  }

  /** The same with handlers that are made in another way. */
  public Deployment withFactory(HandlerFactory factory) {
    return new Deployment(
        name, numReplicas, autoscaling, maxOngoingRequests, spreadOverLoops, userConfig, factory);
  }

  @Override
  public String toString() {
    return "Deployment[" + name + "]";
  }
}
