/**
 * The Model Context Protocol over Streamable HTTP: the kinds of its messages, the rules of its
 * headers, its errors, and session ids that name an upstream. Plain classes without I/O.
 */
@NullMarked
package dev.berth.dialect.mcp;

import org.jspecify.annotations.NullMarked;
