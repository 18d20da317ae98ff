package dev.berth.desired;

import java.util.List;

/**
 * A node that connects to a control node before the controller starts.
 *
 * @param cluster id of the cluster of its last controller
 * @param generation of that controller
 * @param term of that controller
 * @param registration number of its registration there
 * @param runs its applications, as {@link ServeControl#name} names them
 */
public record FirstCaller(
    String node,
    String process,
    String cluster,
    long generation,
    long term,
    long registration,
    List<String> runs) {}
