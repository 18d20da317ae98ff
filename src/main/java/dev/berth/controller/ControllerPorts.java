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
 * What a controller is given from outside, all together.
 *
 * @param epoch carried by every command; its term orders the snapshots
 * @param replicaIds a new id for a replica of a deployment, never the same twice
 * @param ongoing requests that a replica works on now, by its id; negative when it is unknown
 * @param chance from 0 to 1, for waits after failures
 * @param wallMillis the time of day, in milliseconds since 1970
 * @param silentNanos without a report after which an instance's load is not known any more
 * @param config what operators see of a deployment's settings
 */
public record ControllerPorts(
    Epoch epoch,
    Function<DeploymentId, String> replicaIds,
    ToIntFunction<String> ongoing,
    DoubleSupplier chance,
    LongSupplier wallMillis,
    long silentNanos,
    Function<Settings, Map<String, @Nullable Object>> config) {}
