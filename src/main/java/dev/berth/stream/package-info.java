/**
 * Flow control of streamed bodies: the memory budget of an instance's streams, the window of one
 * stream, and the queues of chunks on both ends. A base package, which depends on no package of
 * Berth except the API. A queue and a window are confined to the event loop of their owner.
 */
@NullMarked
package dev.berth.stream;

import org.jspecify.annotations.NullMarked;
