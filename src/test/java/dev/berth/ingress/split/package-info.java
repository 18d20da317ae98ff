/** Tests of what a split reads of a request. */
@NullMarked
package dev.berth.ingress.split;

import org.jspecify.annotations.NullMarked;
