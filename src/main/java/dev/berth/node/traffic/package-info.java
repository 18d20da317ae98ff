/**
 * Where requests go on this instance: the routes of applications, those over several, and how both
 * are told. Belongs to the control loop.
 */
@NullMarked
package dev.berth.node.traffic;

import org.jspecify.annotations.NullMarked;
