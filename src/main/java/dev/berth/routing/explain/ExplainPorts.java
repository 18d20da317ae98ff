package dev.berth.routing.explain;

import dev.berth.view.ExplanationConsumer;
import java.time.InstantSource;

/**
 * External dependencies of the recorders of explained requests.
 *
 * @param into receives each explanation, on the request's loop, after its response was passed on
 * @param wallClock clock for the arrival times of requests
 */
public record ExplainPorts(ExplanationConsumer into, InstantSource wallClock) {}
