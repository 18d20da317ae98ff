/** Batches of a replica: which requests run together, and when. Without a loop or a thread. */
@NullMarked
package dev.berth.replica.batch;

import org.jspecify.annotations.NullMarked;
