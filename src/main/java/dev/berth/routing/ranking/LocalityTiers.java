package dev.berth.routing.ranking;

/**
 * The tiers of nearness that precede the tier of all replicas.
 *
 * @param loop the caller's own event loop, whose replica goes first if it is no busier
 * @param node the caller's instance
 * @param zone the caller's availability zone
 */
public record LocalityTiers(boolean loop, boolean node, boolean zone) {
  /** All tiers, the default. */
  public static final LocalityTiers ALL = new LocalityTiers(true, true, true);
}
