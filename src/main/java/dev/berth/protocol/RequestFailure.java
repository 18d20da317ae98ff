package dev.berth.protocol;

import dev.berth.api.DeploymentId;

/**
 * The failure of an explained request, for operators; callers receive less detail.
 *
 * @param deployment the deployment whose handler failed or was not reached in time, never a caller
 *     that passed the failure on; {@code ""} without a failure
 * @param type class name of the thrown failure
 * @param message its message, at most {@link #MAX_MESSAGE_CHARS}
 */
public record RequestFailure(String deployment, String type, String message) {
  /** The absence of a failure. */
  public static final RequestFailure NONE = new RequestFailure("", "", "");

  /** Maximum length of a message, in characters; the rest is truncated. */
  public static final int MAX_MESSAGE_CHARS = 512;

  /**
   * Returns the record of a handler's failure. The methods of a user exception may throw again, so
   * they are called safely.
   */
  public static RequestFailure of(DeploymentId deployment, Throwable thrown) {
    String message = UserFailure.legible(thrown).getMessage();
    String shown = message == null ? "" : message;
    return new RequestFailure(
        deployment.toString(),
        thrown.getClass().getName(),
        shown.length() <= MAX_MESSAGE_CHARS ? shown : shown.substring(0, MAX_MESSAGE_CHARS) + "…");
  }

  public boolean isNone() {
    return deployment.isEmpty();
  }
}
