package dev.berth.replica.log;

import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import java.util.function.BiConsumer;
import org.slf4j.MDC;

/** Whose work a line of the log is of: the fields that name it, on whatever thread it is done. */
public final class WorkFields {
  /** Of a thread's work, as long as only its application is known. */
  public static final String APPLICATION = "application";

  private WorkFields() {}

  /** Tells the name and value of each field of a request. */
  public static void of(RequestContext request, BiConsumer<String, String> into) {
    of(request.deployment(), request.replicaId(), into);
    into.accept("request_id", request.requestId());
    request.sessionId().ifPresent(id -> into.accept("session_id", id));
  }

  /** Tells those of a replica. */
  public static void of(
      DeploymentId deployment, String replicaId, BiConsumer<String, String> into) {
    into.accept(APPLICATION, deployment.application());
    into.accept("deployment", deployment.name());
    into.accept("replica", replicaId);
  }

  /** Begins a thread's work for a request: its MDC has the fields until {@link #endOnThread}. */
  public static void beginOnThread(RequestContext request) {
    of(request, MDC::put);
  }

  /** Begins a thread's work for a replica. */
  public static void beginOnThread(DeploymentId deployment, String replicaId) {
    of(deployment, replicaId, MDC::put);
  }

  /** Whatever else user code put there goes too: the next work is another's. */
  public static void endOnThread() {
    MDC.clear();
  }
}
