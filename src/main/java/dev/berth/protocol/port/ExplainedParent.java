package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.RequestFailure;

/** An explained request, from the view of the routers that its handler calls. */
public interface ExplainedParent {
  /** Maximum number of explained calls per request; later calls are made without explanation. */
  int MAX_EXPLAINED_CALLS = 32;

  /** Returns whether the next call of the handler is explained, and counts it. Thread-safe. */
  boolean tryExplainCall();

  /**
   * Records a failed call of the handler. If the handler then fails with the same exception, the
   * failure is attributed to the called deployment. Thread-safe.
   */
  void callFailed(BerthException told, RequestFailure why);
}
