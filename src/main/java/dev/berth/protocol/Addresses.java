package dev.berth.protocol;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Names on the event bus: one consumer per event loop and role, none per request or replica. What
 * stands for the node names the process, in a cluster {@code <name>~<process>}; it has no dot.
 */
public final class Addresses {
  /** The cluster's controller. */
  public static final String CONTROLLER = "berth.controller";

  private static final Pattern OF_NODE =
      Pattern.compile("berth\\.(?:routing|router|replica)\\.([^.]+)(?:\\.[0-9]+)?");

  /** How the addresses of replicas begin. */
  public static final String REPLICA = "berth.replica.";

  private static final String ROUTER = "berth.router.";

  private Addresses() {}

  /** What an instance's routers are to know: {@code berth.routing.<node>}, on its control loop. */
  public static String routing(String node) {
    return "berth.routing." + node;
  }

  /** The process that an address above or below is on; null for every other address. */
  public static @Nullable String nodeOf(String address) {
    Matcher parts = OF_NODE.matcher(address);
    return parts.matches() ? parts.group(1) : null;
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
