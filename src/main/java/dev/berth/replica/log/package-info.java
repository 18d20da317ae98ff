/** What the log says of user code: whose work a line is of, and what failed. */
@NullMarked
package dev.berth.replica.log;

import org.jspecify.annotations.NullMarked;
