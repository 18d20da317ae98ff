/** The threads on which blocking handlers run, and the instance's limit of them. */
@NullMarked
package dev.berth.replica.threads;

import org.jspecify.annotations.NullMarked;
