@NullMarked
package dev.berth.node.scaling;

import org.jspecify.annotations.NullMarked;
