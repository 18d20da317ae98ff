package dev.berth.replica.log;

import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import java.util.function.BiConsumer;
import org.slf4j.MDC;

/** Log fields that name the request or replica a thread works for, on any thread. */
public final class RequestLogFields {
  /** Field of a thread's work while only the application is known. */
  public static final String APPLICATION = "application";

  private RequestLogFields() {}

  /** Passes the name and value of each field of a request to {@code into}. */
  public static void of(RequestContext request, BiConsumer<String, String> into) {
    of(request.deployment(), request.replicaId(), into);
    into.accept("request_id", request.requestId());
    request.sessionId().ifPresent(id -> into.accept("session_id", id));
  }

  /** Passes the name and value of each field of a replica to {@code into}. */
  public static void of(
      DeploymentId deployment, String replicaId, BiConsumer<String, String> into) {
    into.accept(APPLICATION, deployment.application());
    into.accept("deployment", deployment.name());
    into.accept("replica", replicaId);
  }

  /** Puts the fields of a request into the MDC of this thread, until {@link #endOnThread}. */
  public static void beginOnThread(RequestContext request) {
    of(request, MDC::put);
  }

  /** Puts the fields of a replica into the MDC of this thread, until {@link #endOnThread}. */
  public static void beginOnThread(DeploymentId deployment, String replicaId) {
    of(deployment, replicaId, MDC::put);
  }

  /** Clears the MDC, entries of user code included, because the next task has another owner. */
  public static void endOnThread() {
    MDC.clear();
  }
}
