package dev.berth.controller.autoscaling;

import org.jspecify.annotations.Nullable;

/**
 * What a policy of the user's own said of one deployment.
 *
 * @param state to be handed back to it, in JSON; null leaves what there is
 */
public record PolicyReply(PolicyAnswer answer, @Nullable String state) {

  /** It threw, took too long, or answered what is none. */
  public static PolicyReply failed(String why) {
    return new PolicyReply(PolicyAnswer.failed(why), null);
  }
}
