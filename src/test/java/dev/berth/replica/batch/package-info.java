/** Proofs of batches: by random walk against what each request may go through. */
@NullMarked
package dev.berth.replica.batch;

import org.jspecify.annotations.NullMarked;
