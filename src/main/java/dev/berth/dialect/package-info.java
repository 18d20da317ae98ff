/**
 * The APIs of OpenAI and Anthropic as text: paths, the named model of a request body, errors, and
 * the events and token counts of responses. Plain classes without I/O. An instance of {@link
 * dev.berth.dialect.EventStream} is confined to the loop of its response; all others are values.
 */
@NullMarked
package dev.berth.dialect;

import org.jspecify.annotations.NullMarked;
