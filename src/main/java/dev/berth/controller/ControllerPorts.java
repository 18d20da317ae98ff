package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.keys.Settings;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The dependencies of a controller.
 *
 * @param epoch carried by every command; its term orders the snapshots
 * @param replicaIds returns a new, unique id for a replica of a deployment
 * @param ongoing returns the requests in progress at a replica, by its id; negative when unknown
 * @param chance returns a random number from 0 to 1, for waits after failures
 * @param wallMillis returns the time of day, in milliseconds since 1970
 * @param silentNanos time without a report after which an instance's load is unknown
 * @param leaseMillis time without a reply of the controller after which the owner of an upstream
 *     resets its connections; 0 for never
 * @param config converts a deployment's settings to the form that operators see
 */
public record ControllerPorts(
    Epoch epoch,
    Function<DeploymentId, String> replicaIds,
    ToIntFunction<String> ongoing,
    DoubleSupplier chance,
    LongSupplier wallMillis,
    long silentNanos,
    long leaseMillis,
    Function<Settings, Map<String, @Nullable Object>> config) {}
