/** The keys of batches: {@code berth.batching} of a deployment. */
@NullMarked
package dev.berth.config.batching;

import org.jspecify.annotations.NullMarked;
