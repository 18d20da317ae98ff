package dev.berth.view;

/**
 * One replica, for operators.
 *
 * @param replicaId unique among all replicas ever started
 * @param node the instance that hosts it
 * @param phase as the controller knows it
 * @param version of the deployment that it runs, for people
 * @param revision of the application that it runs: the last that wanted this version; 0 when that
 *     is not known
 * @param routable whether requests may go there
 * @param startedMs when it was commanded to start, in milliseconds since 1970
 * @param reason why it is not as it should be, or why it ended; empty otherwise
 */
public record ReplicaDetails(
    String replicaId,
    String node,
    ReplicaPhase phase,
    String version,
    long revision,
    boolean routable,
    long startedMs,
    String reason) {}
