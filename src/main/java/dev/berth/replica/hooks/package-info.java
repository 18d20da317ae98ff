/** Threads and calls of the applications' user code that may block. */
@NullMarked
package dev.berth.replica.hooks;

import org.jspecify.annotations.NullMarked;
