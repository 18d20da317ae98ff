/** Where and how the user code of applications runs that may block. */
@NullMarked
package dev.berth.replica.hooks;

import org.jspecify.annotations.NullMarked;
