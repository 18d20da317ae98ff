package dev.berth.controller;

import java.util.Comparator;

/**
 * Who commands: the controller of a term. Every command carries it, and an instance refuses one
 * that is older than the newest it has seen.
 *
 * @param term rises with each election
 * @param node the instance the controller runs on; tells two that were elected at once apart
 */
public record Epoch(long term, String node) implements Comparable<Epoch> {
  private static final Comparator<Epoch> ORDER =
      Comparator.comparingLong(Epoch::term).thenComparing(Epoch::node);

  @Override
  public int compareTo(Epoch other) {
    return ORDER.compare(this, other);
  }
}
