/** Keys of the admin server: its TLS, roles of its clients, and requests that operators try out. */
@NullMarked
package dev.berth.config.admin;

import org.jspecify.annotations.NullMarked;
