package dev.berth.protocol;

/**
 * The reason why an upstream did not run a request.
 *
 * @param text one line for operators, without header values
 * @param retryAfterSeconds time after which the upstream may run the request; -1 when unknown
 */
public record NotRunReason(String text, @Wire(Wire.WireForm.SIGNED) int retryAfterSeconds) {
  private static final int MAX_CHARS = 256;

  public NotRunReason {
    text = text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS - 1) + "…";
  }
}
