/** Rules of the ingress for browsers and for proxies in front. */
@NullMarked
package dev.berth.ingress.edge;

import org.jspecify.annotations.NullMarked;
