package dev.berth.protocol;

/** Names on the event bus: one consumer per event loop and role, none per request or replica. */
public final class Addresses {
  /** The cluster's controller. */
  public static final String CONTROLLER = "berth.controller";

  private Addresses() {}

  /** What an instance's routers are to know: {@code berth.routing.<node>}, on its control loop. */
  public static String routing(String node) {
    return "berth.routing." + node;
  }

  /** Answers to a router loop: {@code berth.router.<node>.<loop>}. */
  public static String router(String node, int loop) {
    return "berth.router." + node + "." + loop;
  }

  /** Requests to the replicas of a loop: {@code berth.replica.<node>.<loop>}. */
  public static String replica(String node, int loop) {
    return "berth.replica." + node + "." + loop;
  }
}
