/**
 * Flow control of bodies in parts: the bytes that an instance may hold for streams, the window of
 * one stream, and the queues of chunks on both ends. A base package: no other package of Berth but
 * the API is below. A queue and a window are confined to the event loop of their owner.
 */
@NullMarked
package dev.berth.stream;

import org.jspecify.annotations.NullMarked;
