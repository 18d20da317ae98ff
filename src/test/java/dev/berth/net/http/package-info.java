/** Tests of the reading of HTTP/1 requests. */
@NullMarked
package dev.berth.net.http;

import org.jspecify.annotations.NullMarked;
