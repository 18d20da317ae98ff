/**
 * The log of the process: how a line is written, whose it is, at what level, what comes from other
 * logs, and who else gets it.
 */
@NullMarked
package dev.berth.cli.log;

import org.jspecify.annotations.NullMarked;
