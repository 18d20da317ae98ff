/** How a line of the log is written, whose it is, and what comes from other logs. */
@NullMarked
package dev.berth.cli.log;

import org.jspecify.annotations.NullMarked;
