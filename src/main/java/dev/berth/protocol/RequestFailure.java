package dev.berth.protocol;

import dev.berth.api.DeploymentId;

/**
 * What a request that is explained failed of, for operators: callers are told less.
 *
 * @param deployment whose handler failed, or could not be reached in time: a caller that passes a
 *     failure on is not the one; {@code ""} when nothing failed
 * @param type the class of what was thrown
 * @param message of it, at most {@link #MAX_MESSAGE_CHARS}
 */
public record RequestFailure(String deployment, String type, String message) {
  /** Nothing failed. */
  public static final RequestFailure NONE = new RequestFailure("", "", "");

  /** Characters kept of a message. */
  public static final int MAX_MESSAGE_CHARS = 512;

  /** Of what a handler threw, which may fail again when it is asked what it is. */
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
