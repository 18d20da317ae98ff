/** Logging of user code: the fields that name its request or replica, and its failures. */
@NullMarked
package dev.berth.replica.log;

import org.jspecify.annotations.NullMarked;
