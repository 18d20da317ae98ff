package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that the controller keeps true, for operators.
 *
 * @param node the instance the controller runs on
 * @param term of the controller; rises with each start of it
 * @param startedMs when this controller started, in milliseconds since 1970
 * @param atMs when this was so, in milliseconds since 1970
 * @param targetCapacity percent of the replicas that run; null when nothing was said of it
 * @param stateDir where what is wanted is kept; null when it is kept in memory only
 * @param applications in the order they were first declared
 */
public record ServeDetails(
    String node,
    long term,
    long startedMs,
    long atMs,
    @Nullable Double targetCapacity,
    @Nullable String stateDir,
    List<ApplicationDetails> applications) {
  public ServeDetails {
    applications = List.copyOf(applications);
  }
}
