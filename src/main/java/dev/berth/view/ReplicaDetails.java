package dev.berth.view;

/**
 * Status of a replica, for operators.
 *
 * @param replicaId unique among all replicas ever started
 * @param node instance that hosts the replica
 * @param phase state known to the controller
 * @param version of its deployment, for people
 * @param revision latest revision of the application that required this version; 0 if unknown
 * @param routable whether routers may send requests
 * @param startedMs time of the start command, in milliseconds since 1970
 * @param reason of an abnormal state, such as a closed upstream, or of the end; empty otherwise
 * @param upstream key of the upstream that the replica represents; empty for none
 */
public record ReplicaDetails(
    String replicaId,
    String node,
    ReplicaPhase phase,
    String version,
    long revision,
    boolean routable,
    long startedMs,
    String reason,
    String upstream) {}
