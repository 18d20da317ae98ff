/**
 * Holds the layout of the code: which package may see which, who may touch Vert.x, the clock and
 * chance. {@link dev.berth.architecture.Architecture} states the rules once; one test applies them
 * to the code, another plants a violation of each and sees it caught.
 */
@NullMarked
package dev.berth.architecture;

import org.jspecify.annotations.NullMarked;
