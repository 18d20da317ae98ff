package dev.berth.desired;

import java.io.IOException;

/**
 * A change of which it is not known whether it is committed: it may come true yet. What is proposed
 * after it goes behind it, so that of the two who came first counts. Whoever asked for it asks
 * again under the same id.
 */
public final class Undecided extends IOException {
  private static final long serialVersionUID = 1;

  /**
   * @param why it is not known, for people
   */
  public Undecided(String why) {
    super(why);
  }
}
