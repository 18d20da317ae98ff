/**
 * The log of the process: layouts, fields and levels of lines, the capture of other logs and of
 * printed text, and taps.
 */
@NullMarked
package dev.berth.cli.log;

import org.jspecify.annotations.NullMarked;
