package dev.berth.controller.autoscaling;

import org.jspecify.annotations.Nullable;

/**
 * The reply of a user-defined policy for one deployment.
 *
 * @param state that is passed to its next call, in JSON; null retains the present one
 */
public record PolicyReply(PolicyAnswer answer, @Nullable String state) {

  /** Returns the reply of a policy that threw, timed out or returned an invalid reply. */
  public static PolicyReply ofFailure(String why) {
    return new PolicyReply(PolicyAnswer.ofFailure(why), null);
  }
}
