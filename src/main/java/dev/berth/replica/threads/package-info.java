/** Threads of blocking handlers, and the instance's limit of these threads. */
@NullMarked
package dev.berth.replica.threads;

import org.jspecify.annotations.NullMarked;
