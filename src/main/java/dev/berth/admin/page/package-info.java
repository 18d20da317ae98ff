/**
 * The page of the admin port for browsers: its files, and requests that an operator tries out on
 * the data port.
 */
@NullMarked
package dev.berth.admin.page;

import org.jspecify.annotations.NullMarked;
