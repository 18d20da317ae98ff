package dev.berth.protocol;

/**
 * Names on the event bus: one consumer per event loop and role, none per request or replica. What
 * stands for the node names the process, in a cluster {@code <name>~<process>}; it has no dot.
 */
public final class Addresses {
  /** The cluster's controller. */
  public static final String CONTROLLER = "berth.controller";

  /** How the addresses of replicas begin. */
  public static final String REPLICA = "berth.replica.";

  private static final String ROUTER = "berth.router.";

  private Addresses() {}

  /** What an instance's routers are to know: {@code berth.routing.<node>}, on its control loop. */
  public static String routing(String node) {
    return "berth.routing." + node;
  }

  /** Answers to a router loop: {@code berth.router.<node>.<loop>}. */
  public static String router(String node, int loop) {
    return ROUTER + node + "." + loop;
  }

  /** Requests to the replicas of a loop: {@code berth.replica.<node>.<loop>}. */
  public static String replica(String node, int loop) {
    return REPLICA + node + "." + loop;
  }

  /** The loop that an address of a router or of replicas names. */
  public static int loop(String address) {
    return Integer.parseInt(address, address.lastIndexOf('.') + 1, address.length(), 10);
  }
}
