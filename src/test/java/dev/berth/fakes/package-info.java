/**
 * Stand-ins for what the parts are given from outside: time, randomness, messages. Kept like main
 * code. A fake does what its port promises and lets a test see and steer it; none checks anything.
 */
@NullMarked
package dev.berth.fakes;

import org.jspecify.annotations.NullMarked;
