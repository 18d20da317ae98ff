package dev.berth.protocol;

/**
 * Addresses on the event bus: one consumer per event loop and role, none per request or replica.
 * The node part of an address is the process name, in a cluster {@code <name>~<process>}, which
 * contains no dot.
 */
public final class BusAddresses {
  /** Address of the cluster's controller. */
  public static final String CONTROLLER = "berth.controller";

  /** Prefix of all replica addresses. */
  public static final String REPLICA = "berth.replica.";

  private static final String ROUTER = "berth.router.";
  private static final String BUS = "berth.bus.";

  private BusAddresses() {}

  /** Returns whether an address belongs to Berth and not to an application. */
  public static boolean isReserved(String address) {
    return address.startsWith("berth.");
  }

  /**
   * Returns the address of an instance's routing updates, {@code berth.routing.<node>}. Its
   * consumer runs on the control loop of the instance.
   */
  public static String routing(String node) {
    return "berth.routing." + node;
  }

  /** Returns the address of replies to a router loop: {@code berth.router.<node>.<loop>}. */
  public static String router(String node, int loop) {
    return ROUTER + node + "." + loop;
  }

  /**
   * Returns the address of requests to the replicas of a loop: {@code berth.replica.<node>.<loop>}.
   */
  public static String replica(String node, int loop) {
    return REPLICA + node + "." + loop;
  }

  /** Returns the address of pings of other nodes over the event bus: {@code berth.bus.<node>}. */
  public static String bus(String node) {
    return BUS + node;
  }

  /**
   * Returns the address of messages of other nodes to a loop: {@code berth.bus.<node>.<loop>}. They
   * need an address of their own, because Vert.x shares messages to one address among its
   * consumers.
   */
  public static String bus(String node, int loop) {
    return BUS + node + "." + loop;
  }

  /** Returns the loop index in the address of a router or of a loop's replicas. */
  public static int loop(String address) {
    return Integer.parseInt(address, address.lastIndexOf('.') + 1, address.length(), 10);
  }
}
