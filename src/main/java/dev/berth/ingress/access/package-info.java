/** Access log: one line per request, for the operator of the service. */
@NullMarked
package dev.berth.ingress.access;

import org.jspecify.annotations.NullMarked;
