package dev.berth.upstream.client;

/**
 * The reason for the failure of an exchange.
 *
 * @param reason text for logs and clients, without a header value
 */
public record UpstreamFailure(Effect effect, String reason) {

  /** The effect of a failed exchange on the upstream. */
  public enum Effect {
    /** No byte of the request was written, since no connection was established. */
    NOT_CONNECTED,
    /** The upstream is well, and has certainly not begun the request. */
    REFUSED,
    /** The upstream may have run the request. */
    UNKNOWN
  }

  /** Returns whether the upstream cannot have begun the request. */
  public boolean notRun() {
    return effect != Effect.UNKNOWN;
  }
}
