/**
 * Strict HTTP/1 (RFC 9112) for all listening servers: refuses invalid requests before routing.
 * Vert.x and Netty accept many of them.
 */
@NullMarked
package dev.berth.net.http;

import org.jspecify.annotations.NullMarked;
