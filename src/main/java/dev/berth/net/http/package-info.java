/**
 * HTTP/1 as RFC 9112 has it, for whoever listens: what is refused before it is routed. Vert.x and
 * Netty take much of it as it comes.
 */
@NullMarked
package dev.berth.net.http;

import org.jspecify.annotations.NullMarked;
