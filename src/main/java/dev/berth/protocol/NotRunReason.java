package dev.berth.protocol;

/**
 * The reason why an upstream did not run a request.
 *
 * @param text one line for operators, without header values
 * @param retryAfterSeconds time after which the upstream may run the request; -1 when unknown, and
 *     {@link #MAY_WAIT} if the request may wait for its turn
 */
public record NotRunReason(String text, @Wire(Wire.WireForm.SIGNED) int retryAfterSeconds) {
  /** Value of {@code retryAfterSeconds} after a refusal for a limit of the replica. */
  public static final int MAY_WAIT = -2;

  private static final int MAX_CHARS = 256;

  public NotRunReason {
    text = text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS - 1) + "…";
  }

  /** Returns whether the request may wait for the replica that refused it. */
  public boolean mayWait() {
    return retryAfterSeconds == MAY_WAIT;
  }
}
