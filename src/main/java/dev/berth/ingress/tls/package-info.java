/** TLS of the HTTP port: what its connections are to have, now and after a change of the files. */
@NullMarked
package dev.berth.ingress.tls;

import org.jspecify.annotations.NullMarked;
