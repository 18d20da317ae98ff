package dev.berth.routing.explain;

import dev.berth.view.Explanations;
import java.time.InstantSource;

/**
 * What the records of explained requests need from outside.
 *
 * @param into takes them; on the request's loop, once its answer is handed on
 * @param wallClock says when requests arrived
 */
public record ExplainPorts(Explanations into, InstantSource wallClock) {}
