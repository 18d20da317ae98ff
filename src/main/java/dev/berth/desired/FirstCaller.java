package dev.berth.desired;

import java.util.List;

/**
 * A node that calls a control node before the controller begins.
 *
 * @param cluster id of the cluster whose controller commanded it last
 * @param generation of that controller
 * @param term likewise
 * @param registration that it had there
 * @param runs its applications, by {@link ServeControl#name}
 */
public record FirstCaller(
    String node,
    String process,
    String cluster,
    long generation,
    long term,
    long registration,
    List<String> runs) {}
