package dev.berth.view;

import org.jspecify.annotations.Nullable;

/**
 * Autoscaling state of a deployment, for operators. The reason of the decision has three forms: a
 * code word, a text for people, and one line with its figures.
 *
 * @param minReplicas minimum, at the deployment's capacity
 * @param maxReplicas maximum, at the deployment's capacity
 * @param target desired requests per replica
 * @param load requests in the look-back window, aggregated
 * @param running replicas that serve
 * @param replicas desired number of replicas
 * @param paused whether an operator has fixed the number
 * @param reason of the decision, as a code word
 * @param why reason for people, before the line with its figures
 * @param lastChange last decision that changed the number, one line; empty for none
 * @param atMs time of this state, in milliseconds since 1970
 * @param untilMs end of the current delay, in milliseconds since 1970; null for none
 * @param reportMs age of the oldest report in milliseconds; null without reports
 * @param unknown number of instances that are silent or have not reported yet
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
