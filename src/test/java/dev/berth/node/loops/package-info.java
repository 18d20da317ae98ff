@NullMarked
package dev.berth.node.loops;

import org.jspecify.annotations.NullMarked;
