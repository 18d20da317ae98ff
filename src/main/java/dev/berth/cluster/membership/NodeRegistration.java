package dev.berth.cluster.membership;

/**
 * A committed registration of a process.
 *
 * @param number unique among registrations; compared for equality only
 */
public record NodeRegistration(String name, String process, long number) {
  /** Returns the name as {@link NodeInfo#busName}. */
  public String busName() {
    return name + "~" + process;
  }
}
