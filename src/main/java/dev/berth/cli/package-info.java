/**
 * The command line: parses arguments, calls the node or the admin port, prints, and chooses the
 * exit code. The package is stateless and knows nothing about requests.
 */
@NullMarked
package dev.berth.cli;

import org.jspecify.annotations.NullMarked;
