package dev.berth.testkit;

import dev.berth.api.DeploymentId;

/**
 * A replica as a test sees it at one moment.
 *
 * @param id {@code application#deployment#n}, where n counts the replicas of the test from 1
 * @param deployment whose replica it is
 * @param state {@code RUNNING}, {@code UNHEALTHY}, {@code DRAINING}, or {@code STOPPED} for one
 *     that was killed and whose handlers have not all settled
 * @param ledger its slots
 * @param zombies cancelled requests that have not settled within {@code cancel_grace_s}
 */
public record TestReplica(
    String id, DeploymentId deployment, String state, SlotCounts ledger, int zombies) {}
