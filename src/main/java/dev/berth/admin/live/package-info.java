/** Live feed and history of an instance for operators. */
@NullMarked
package dev.berth.admin.live;

import org.jspecify.annotations.NullMarked;
