package dev.berth.controller;

import java.util.Comparator;

/**
 * The authority of one controller. Every command carries it, and an instance refuses a command that
 * is older than the newest epoch it has seen.
 *
 * @param generation of the desired state; 0 without a cluster. It rises when the state is restored
 *     or copied from elsewhere, and terms then restart
 * @param term rises with each election, and with each controller that follows another
 * @param node instance of the controller; distinguishes two controllers that were elected at once
 */
public record Epoch(long generation, long term, String node) implements Comparable<Epoch> {
  /** Bits of the term in {@link #number}; more controllers never start in one generation. */
  private static final int TERM_BITS = 40;

  private static final Comparator<Epoch> ORDER =
      Comparator.comparingLong(Epoch::generation)
          .thenComparingLong(Epoch::term)
          .thenComparing(Epoch::node);

  /**
   * Returns generation and term in one number. Routers order snapshots by it, and metrics senders
   * recognise another controller by it. Without a cluster it is the term.
   */
  public long number() {
    return generation << TERM_BITS | term;
  }

  @Override
  public int compareTo(Epoch other) {
    return ORDER.compare(this, other);
  }

  /** Returns the text form for people and logs. */
  @Override
  public String toString() {
    String of = generation == 0 ? "" : "generation " + generation + ", ";
    return of + "term " + term + " of " + node;
  }
}
