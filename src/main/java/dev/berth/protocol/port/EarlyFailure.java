package dev.berth.protocol.port;

import dev.berth.api.BerthException;

/** A request that can fail for its caller before its handler settles. Confined to its loop. */
public interface EarlyFailure {
  /**
   * Sends a failure to the caller and cancels the request, without effect after its end. The slot
   * stays occupied until the handler settles.
   */
  void breakOff(BerthException.Kind kind, String message);

  /** Refuses the request as not run, as {@link #breakOff} fails it. */
  void refuse(UpstreamNotRun failure);
}
