/** Limits of new connections, TLS handshakes and frames, before a request exists. */
@NullMarked
package dev.berth.ingress.limit;

import org.jspecify.annotations.NullMarked;
