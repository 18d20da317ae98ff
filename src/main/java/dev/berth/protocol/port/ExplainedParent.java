package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.RequestFailure;
import dev.berth.protocol.RequestOrigin;
import org.jspecify.annotations.Nullable;

/** An explained request, from the view of the routers that its handler calls. */
public interface ExplainedParent {
  /** Maximum number of explained calls per request; later calls are made without explanation. */
  int MAX_EXPLAINED_CALLS = 32;

  /** Returns the origin of the HTTP request that caused this one; null for none. */
  @Nullable RequestOrigin origin();

  /** Returns whether the next call of the handler is explained, and counts it. Thread-safe. */
  boolean tryExplainCall();

  /**
   * Records a failed call of the handler. If the handler then fails with the same exception, the
   * failure is attributed to the called deployment. Thread-safe.
   */
  void callFailed(BerthException told, RequestFailure why);
}
