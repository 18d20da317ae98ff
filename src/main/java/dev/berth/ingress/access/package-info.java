/**
 * One line per request for whoever runs the service: what is in it, how it is written, when not.
 */
@NullMarked
package dev.berth.ingress.access;

import org.jspecify.annotations.NullMarked;
