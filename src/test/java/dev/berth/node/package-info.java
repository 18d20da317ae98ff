/** The composition root: placement, loading, and one instance in this JVM. */
@NullMarked
package dev.berth.node;

import org.jspecify.annotations.NullMarked;
