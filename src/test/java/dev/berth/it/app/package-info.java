/** A user's application for the integration tests, packed into a jar of its own by them. */
@NullMarked
package dev.berth.it.app;

import org.jspecify.annotations.NullMarked;
