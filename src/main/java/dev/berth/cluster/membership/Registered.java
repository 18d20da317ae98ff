package dev.berth.cluster.membership;

/**
 * A process that is one of the cluster, as it was committed.
 *
 * @param number given to no other; compared for equality only
 */
public record Registered(String name, String process, long number) {
  /** As {@link NodeInfo#busName}. */
  public String busName() {
    return name + "~" + process;
  }
}
