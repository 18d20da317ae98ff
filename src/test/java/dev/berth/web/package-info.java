/** Claims about web applications: routes, parameters, bodies, documents. */
@NullMarked
package dev.berth.web;

import org.jspecify.annotations.NullMarked;
