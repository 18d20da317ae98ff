/**
 * What user code holds: the handle of a deployment on a loop, its calls, choices and broadcasts.
 * Nothing of routing knows of it.
 */
@NullMarked
package dev.berth.routing.handle;

import org.jspecify.annotations.NullMarked;
