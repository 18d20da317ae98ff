package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.RequestFailure;

/** A request that is explained, as the routers see it that its handler calls in turn. */
public interface ExplainedParent {
  /** Calls of one request that are explained; those after it are made, and not explained. */
  int MAX_EXPLAINED_CALLS = 32;

  /** Whether the call that its handler makes now is to be explained; counts it. Any thread. */
  boolean tryExplainCall();

  /**
   * A call of its handler failed: if that fails with the same, the deployment that was called is
   * the one that failed. Any thread.
   */
  void callFailed(BerthException told, RequestFailure why);
}
