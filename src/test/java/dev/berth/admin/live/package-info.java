@NullMarked
package dev.berth.admin.live;

import org.jspecify.annotations.NullMarked;
