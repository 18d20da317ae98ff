package dev.berth.controller;

import java.util.Comparator;

/**
 * Who commands: the controller of a term. Every command carries it, and an instance refuses one
 * that is older than the newest it has seen.
 *
 * @param generation of what is declared: rises when that is restored or taken over from elsewhere,
 *     and terms then begin anew; 0 without a cluster
 * @param term rises with each election, and with each controller that follows another
 * @param node the instance the controller runs on; tells two that were elected at once apart
 */
public record Epoch(long generation, long term, String node) implements Comparable<Epoch> {
  /** Bits of {@link #number} that are the term's; nobody starts so many controllers. */
  private static final int TERM_BITS = 40;

  private static final Comparator<Epoch> ORDER =
      Comparator.comparingLong(Epoch::generation)
          .thenComparingLong(Epoch::term)
          .thenComparing(Epoch::node);

  /**
   * Generation and term in one: what routers order snapshots by, and a metrics pusher tells
   * controllers apart by. Without a cluster it is the term.
   */
  public long number() {
    return generation << TERM_BITS | term;
  }

  @Override
  public int compareTo(Epoch other) {
    return ORDER.compare(this, other);
  }

  /** For people and logs. */
  @Override
  public String toString() {
    String of = generation == 0 ? "" : "generation " + generation + ", ";
    return of + "term " + term + " of " + node;
  }
}
