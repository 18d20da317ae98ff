/**
 * Routes of this instance: routes of applications, routes over several applications, and the status
 * of both. Confined to the control loop.
 */
@NullMarked
package dev.berth.node.traffic;

import org.jspecify.annotations.NullMarked;
