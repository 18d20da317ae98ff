/** Claims about flow control: no byte is granted twice, and none is kept when its stream ends. */
@NullMarked
package dev.berth.stream;

import org.jspecify.annotations.NullMarked;
