package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * State of all applications of the controller, for operators.
 *
 * @param node instance that runs the controller
 * @param term of the controller; increases with each start
 * @param startedMs start time of this controller, in milliseconds since 1970
 * @param atMs time of this state, in milliseconds since 1970
 * @param targetCapacity percentage of the replicas to run; null if unset
 * @param stateDir directory of the desired state; null if it is in memory only
 * @param applications in the order of their first declaration
 */
public record ServeDetails(
    String node,
    long term,
    long startedMs,
    long atMs,
    @Nullable Double targetCapacity,
    @Nullable String stateDir,
    List<ApplicationDetails> applications) {}
