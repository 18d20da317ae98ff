package dev.berth.desired;

import java.io.IOException;

/**
 * A change with an unknown outcome: it may still be committed. Later changes are ordered after it,
 * so that the earlier of two wins. The caller retries under the same id.
 */
public final class CommitOutcomeUnknownException extends IOException {
  private static final long serialVersionUID = 1;

  /**
   * @param why cause of the unknown outcome, for people
   */
  public CommitOutcomeUnknownException(String why) {
    super(why);
  }
}
