package dev.berth.routing.ranking;

/**
 * Which tiers of nearness come before all replicas alike.
 *
 * @param loop the caller's own event loop, whose replica goes first when it is no busier
 * @param node the caller's instance
 * @param zone the caller's availability zone
 */
public record Tiers(boolean loop, boolean node, boolean zone) {
  /** Each of them, which is the default. */
  public static final Tiers ALL = new Tiers(true, true, true);
}
