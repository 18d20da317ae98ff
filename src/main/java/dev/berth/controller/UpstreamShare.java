package dev.berth.controller;

/**
 * The part of an upstream's maximum that one replica may use, as commanded by the controller.
 *
 * @param number of the command, unique among all controllers; 0 before the first command
 * @param maximum number of slots; 0 closes the replica
 * @param leaseMillis time without a renewed lease after which the replica's node resets its
 *     connections; 0 for no limit
 */
public record UpstreamShare(long number, int maximum, long leaseMillis) {
  /** Share of a replica that has received no command. */
  public static final UpstreamShare NONE = new UpstreamShare(0, 0, 0);
}
