/** Proofs of the ledger: by example, by random walk against a model, and by many threads. */
@NullMarked
package dev.berth.replica;

import org.jspecify.annotations.NullMarked;
