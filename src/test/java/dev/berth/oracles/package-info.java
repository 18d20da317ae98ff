/**
 * Queueing theory as a judge: the shipping router and ranker under a virtual clock, compared with
 * formulas that are known exactly.
 */
@NullMarked
package dev.berth.oracles;

import org.jspecify.annotations.NullMarked;
