/** The process of a node: its stop signals, its drain. */
@NullMarked
package dev.berth.cli.process;

import org.jspecify.annotations.NullMarked;
