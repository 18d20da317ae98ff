/** TLS of the HTTP port, with reload after changes of the files. */
@NullMarked
package dev.berth.ingress.tls;

import org.jspecify.annotations.NullMarked;
