package dev.berth.view;

import org.jspecify.annotations.Nullable;

/**
 * How the number of replicas of a deployment follows its load now, for operators.
 *
 * @param minReplicas fewest, at the deployment's capacity
 * @param maxReplicas most, at the deployment's capacity
 * @param target requests that each replica is to have
 * @param load requests in the look-back window, aggregated
 * @param running replicas that serve
 * @param replicas that are wanted
 * @param paused whether an operator set their number, which holds
 * @param reason why it is not another number, a word
 * @param why the same for people
 * @param told the same with its figures, a line
 * @param lastChange the last decision that changed the number, a line; empty when there is none
 * @param atMs when this was so, in milliseconds since 1970
 * @param untilMs end of the delay that runs; null for none
 * @param reportMs age of the oldest report; null when nothing reports
 * @param unknown instances that are silent, or have not reported yet
 */
public record ScalingDetails(
    int minReplicas,
    int maxReplicas,
    double target,
    double load,
    int running,
    int replicas,
    boolean paused,
    String reason,
    String why,
    String told,
    String lastChange,
    long atMs,
    @Nullable Long untilMs,
    @Nullable Long reportMs,
    int unknown) {}
