/**
 * Composition root of an instance: event loops, verticles, the clock, the seed, and the order of
 * start and stop. The only package that imports all others, and the only one that reads the clock.
 * The package decides nothing about requests. On shutdown it stops accepting first, drains next,
 * and closes last, within a bounded time.
 */
@NullMarked
package dev.berth.node;

import org.jspecify.annotations.NullMarked;
