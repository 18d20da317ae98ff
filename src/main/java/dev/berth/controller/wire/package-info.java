/**
 * The JSON form of the controller's commands to other instances and of their events. JSON suffices,
 * as these messages are few. A reader ignores unknown members, so that members can be added, and
 * names missing ones in its errors.
 */
@NullMarked
package dev.berth.controller.wire;

import org.jspecify.annotations.NullMarked;
