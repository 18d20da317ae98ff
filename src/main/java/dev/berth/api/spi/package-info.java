/**
 * What experts implement: policies that rank replicas, and that say how many there should be. A
 * policy is a pure function of what it is shown; it holds no slot and sends nothing, so a wrong one
 * costs speed and never correctness.
 */
@NullMarked
package dev.berth.api.spi;

import org.jspecify.annotations.NullMarked;
