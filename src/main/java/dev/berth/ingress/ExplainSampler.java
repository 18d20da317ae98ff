package dev.berth.ingress;

import dev.berth.api.DeploymentId;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.explain.RequestRecorder;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Selects the requests to explain. These are requests with the header {@code X-Berth-Explain} of
 * {@code 1} or {@code true}, where allowed, a random share of all, and the next one of a deployment
 * if an operator wants it. Other header values have no effect. One instance per loop, confined to
 * it.
 *
 * @param sampleRate 0 to 1
 * @param next deployments with a next request to explain; thread-safe, shared by the loops
 */
record ExplainSampler(
    boolean byHeader, double sampleRate, RandomGenerator random, Set<DeploymentId> next) {
  private static final CharSequence ASKED = HttpHeaders.createOptimized("x-berth-explain");
  private static final CharSequence OVERHEAD = HttpHeaders.createOptimized("x-berth-overhead-us");
  private static final CharSequence REPLICA = HttpHeaders.createOptimized("x-berth-replica");

  /** Creates the recorder of a request; null for a request that is not explained. */
  @Nullable RequestRecorder recorder(
      RouterLoop loop,
      @Nullable DeploymentRouter router,
      HttpServerRequest http,
      String requestId,
      long startedNanos) {
    if (router == null || !(picks(http.headers()) | isNext(router.deployment()))) {
      return null;
    }
    return router.explained(
        loop, requestId, http.method().name() + " " + http.path(), startedNanos);
  }

  /** Returns whether this is the awaited request of its deployment; each is awaited once. */
  boolean isNext(DeploymentId deployment) {
    return !next.isEmpty() && next.remove(deployment);
  }

  boolean picks(MultiMap headers) {
    if (byHeader) {
      String asked = headers.get(ASKED);
      if (asked != null && (asked.equals("1") || asked.equalsIgnoreCase("true"))) {
        return true;
      }
    }
    return sampleRate > 0 && random.nextDouble() < sampleRate;
  }

  /** Adds the overhead and the replica known so far to the head of a response. */
  static void tell(RequestRecorder recorder, MultiMap headers) {
    headers.set(OVERHEAD, Long.toString(recorder.overheadMicros()));
    String replicaId = recorder.replicaId();
    if (!replicaId.isEmpty()) {
      headers.set(REPLICA, replicaId);
    }
  }
}
