package dev.berth.api;

/**
 * A handler that may block. Runs on a virtual thread when the JVM has them, else on a pool of
 * {@code max_ongoing_requests} threads of its replica. Calls are concurrent up to that number.
 */
@FunctionalInterface
public non-sealed interface BlockingHandler extends ReplicaHandler {

  /**
   * Serves one request; cancellation interrupts the thread.
   *
   * @throws Exception becomes {@link BerthException.HandlerFailed} (HTTP 500), except that a {@link
   *     BerthException} keeps its kind
   */
  Response handle(Request request, RequestContext context) throws Exception;
}
