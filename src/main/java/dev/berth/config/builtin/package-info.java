/** The keys of the applications that are built in, and of their clients. */
@NullMarked
package dev.berth.config.builtin;

import org.jspecify.annotations.NullMarked;
