package dev.berth.api;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A deployment as declared in code. Values in the configuration file override the values set here.
 * Immutable.
 */
public final class Deployment {
  /** Default of {@code max_ongoing_requests} in Ray Serve. */
  public static final int DEFAULT_MAX_ONGOING_REQUESTS = 5;

  /** Maximum number of slots per replica: the largest count that a ledger holds. */
  public static final int MAX_ONGOING_REQUESTS_LIMIT = 65_535;

  private final String name;
  private final int numReplicas;
  private final @Nullable Autoscaling autoscaling;
  private final @Nullable Integer maxOngoingRequests;
  private final boolean spreadOverLoops;
  private final Map<String, Object> userConfig;
  private final HandlerFactory factory;
  private final @Nullable BatchRules batching;

  private Deployment(
      String name,
      int numReplicas,
      @Nullable Autoscaling autoscaling,
      @Nullable Integer maxOngoingRequests,
      boolean spreadOverLoops,
      Map<String, Object> userConfig,
      HandlerFactory factory,
      @Nullable BatchRules batching) {
    this.name = Objects.requireNonNull(name, "name");
    this.numReplicas = numReplicas;
    this.autoscaling = autoscaling;
    this.maxOngoingRequests = maxOngoingRequests;
    this.spreadOverLoops = spreadOverLoops;
    this.userConfig = userConfig;
    this.factory = Objects.requireNonNull(factory, "factory");
    this.batching = batching;
  }

  /**
   * Creates a deployment whose handler never blocks, with one replica and default settings.
   *
   * @param handler shared by all replicas and event loops, so it must be stateless; {@link #of}
   *     creates handlers with state by a factory
   */
  public static Deployment async(String name, AsyncHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return of(name, replica -> handler);
  }

  /**
   * Creates a deployment as {@link #async(String, AsyncHandler)} does, with a handler that may
   * block.
   */
  public static Deployment blocking(String name, BlockingHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return of(name, replica -> handler);
  }

  /**
   * Creates a deployment of typed values. All replicas share one handler, created by {@link
   * AsyncHandler#of}.
   *
   * @throws IllegalStateException when the application's jars have no Jackson databind
   */
  public static <I, O> Deployment async(String name, Class<I> body, AsyncFunction<I, O> function) {
    return async(name, AsyncHandler.of(body, function));
  }

  /**
   * Creates a deployment as {@link #async(String, Class, AsyncFunction)} does, with a function that
   * may block.
   */
  public static <I, O> Deployment blocking(
      String name, Class<I> body, BlockingFunction<I, O> function) {
    return blocking(name, BlockingHandler.of(body, function));
  }

  /**
   * Creates a deployment as {@link #blocking(String, BlockingHandler)} does, with a handler of
   * batches and {@link BatchRules#DEFAULTS}.
   */
  public static Deployment batch(String name, BatchHandler handler) {
    Objects.requireNonNull(handler, "handler");
    return of(name, replica -> handler).withBatching(BatchRules.DEFAULTS);
  }

  /**
   * Creates a deployment of typed values as {@link #batch(String, BatchHandler)} does. The function
   * receives the bodies of a batch and returns as many results.
   *
   * @param result type of the results, for the reader
   */
  public static <I, O> Deployment batch(
      String name, Class<I> body, Class<O> result, BatchFunction<I, O> function) {
    Objects.requireNonNull(result, "result");
    return batch(name, BatchHandler.of(body, function));
  }

  /**
   * Creates a deployment whose replicas may have state, with one replica and default settings.
   *
   * @param name unique within the application
   * @param factory creates the handler of each replica
   */
  public static Deployment of(String name, HandlerFactory factory) {
    return new Deployment(name, 1, null, null, false, Map.of(), factory, null);
  }

  /** Returns the name, unique within the application. */
  public String name() {
    return name;
  }

  /**
   * Bounds and target of an autoscaled replica count. All other autoscaling settings, such as the
   * delays, come from the configuration file.
   *
   * @param minReplicas minimum number of replicas, from 0
   * @param maxReplicas maximum number of replicas, at least 1 and {@code minReplicas}
   * @param targetOngoingRequests target number of requests per replica, above 0
   */
  public record Autoscaling(int minReplicas, int maxReplicas, double targetOngoingRequests) {}

  /** Returns the number of replicas to run; default 1. */
  public int numReplicas() {
    return numReplicas;
  }

  /** Returns the autoscaling bounds; null by default, when the number of replicas is fixed. */
  public @Nullable Autoscaling autoscaling() {
    return autoscaling;
  }

  /**
   * Returns the number of slots of each replica. Default 5, as in Ray Serve, or enough for the
   * batches.
   */
  public int maxOngoingRequests() {
    return maxOngoingRequests != null
        ? maxOngoingRequests
        : batching == null ? DEFAULT_MAX_ONGOING_REQUESTS : batching.slots();
  }

  /** Returns the number of slots that the code sets; null when it sets none. */
  public @Nullable Integer ownMaxOngoingRequests() {
    return maxOngoingRequests;
  }

  /**
   * Size and wait of batches, for a {@link BatchedHandler}. All other settings of batches come from
   * the configuration file.
   *
   * @param maxBatchSize maximum of requests in a batch, from 1
   * @param batchWaitTimeout maximum wait of a batch's oldest request for others, from 0
   * @param maxConcurrentBatches batches that a replica runs at a time, from 1
   */
  public record BatchRules(int maxBatchSize, Duration batchWaitTimeout, int maxConcurrentBatches) {
    /** The defaults of Ray Serve: 10 requests, 10 ms, one batch at a time. */
    public static final BatchRules DEFAULTS = new BatchRules(10, Duration.ofMillis(10), 1);

    int slots() {
      return (int) Math.min((long) maxBatchSize * maxConcurrentBatches, MAX_ONGOING_REQUESTS_LIMIT);
    }
  }

  /** Returns the batches of the handler; null by default, when requests run alone. */
  public @Nullable BatchRules batching() {
    return batching;
  }

  /** Returns a copy whose handlers take batches. */
  public Deployment withBatching(BatchRules batches) {
    return new Deployment(
        name,
        numReplicas,
        autoscaling,
        maxOngoingRequests,
        spreadOverLoops,
        userConfig,
        factory,
        Objects.requireNonNull(batches, "batches"));
  }

  /**
   * Returns whether each replica has one handler object per event loop behind one ledger. Intended
   * for handlers that share no state across loops; default false.
   */
  public boolean spreadOverLoops() {
    return spreadOverLoops;
  }

  /**
   * Returns the configuration that {@link ReplicaContext#userConfig} passes to the factory; default
   * empty. A value may be null.
   */
  public Map<String, Object> userConfig() {
    return userConfig;
  }

  /** Returns the factory of the handlers. */
  public HandlerFactory factory() {
    return factory;
  }

  /**
   * Returns a copy with a fixed number of replicas, without autoscaling.
   *
   * @param replicas at least 1; else {@link IllegalArgumentException}
   */
  public Deployment withNumReplicas(int replicas) {
    if (replicas < 1) {
      throw new IllegalArgumentException("numReplicas: " + replicas + " (expected: >= 1)");
    }
    return new Deployment(
        name, replicas, null, maxOngoingRequests, spreadOverLoops, userConfig, factory, batching);
  }

  /** Returns a copy whose number of replicas follows the load within bounds. */
  public Deployment withAutoscaling(Autoscaling between) {
    return new Deployment(
        name, 1, between, maxOngoingRequests, spreadOverLoops, userConfig, factory, batching);
  }

  /**
   * Returns a copy with another number of slots per replica.
   *
   * @param requests 1 to 65 535; else {@link IllegalArgumentException}
   */
  public Deployment withMaxOngoingRequests(int requests) {
    if (requests < 1 || requests > MAX_ONGOING_REQUESTS_LIMIT) {
      throw new IllegalArgumentException(
          "maxOngoingRequests: " + requests + " (expected: 1 to 65535)");
    }
    return new Deployment(
        name, numReplicas, autoscaling, requests, spreadOverLoops, userConfig, factory, batching);
  }

  /** Returns a copy with one handler for each event loop (true) or one for each replica (false). */
  public Deployment withSpreadOverLoops(boolean spread) {
    return new Deployment(
        name, numReplicas, autoscaling, maxOngoingRequests, spread, userConfig, factory, batching);
  }

  /** Returns a copy with a copy of this configuration. */
  public Deployment withUserConfig(Map<String, Object> config) {
    Map<String, Object> copy =
        Collections.unmodifiableMap(new LinkedHashMap<>(config)); // Map.copyOf rejects nulls
    return new Deployment(
        name,
        numReplicas,
        autoscaling,
        maxOngoingRequests,
        spreadOverLoops,
        copy,
        factory,
        batching);
  }

  /** Returns a copy with another factory of handlers. */
  public Deployment withFactory(HandlerFactory factory) {
    return new Deployment(
        name,
        numReplicas,
        autoscaling,
        maxOngoingRequests,
        spreadOverLoops,
        userConfig,
        factory,
        batching);
  }

  @Override
  public String toString() {
    return "Deployment[" + name + "]";
  }
}
