/** Keys of a route for browsers and proxies: compression, CORS, response headers. */
@NullMarked
package dev.berth.config.edge;

import org.jspecify.annotations.NullMarked;
