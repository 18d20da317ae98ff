/** Claims about the APIs of OpenAI and Anthropic: bodies, errors, events and token counts. */
@NullMarked
package dev.berth.dialect;

import org.jspecify.annotations.NullMarked;
