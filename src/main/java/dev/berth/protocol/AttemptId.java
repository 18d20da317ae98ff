package dev.berth.protocol;

import static dev.berth.protocol.Wire.Form.FIXED;

/**
 * Names one attempt of one router to get a slot of one replica, so that a repeated message is
 * recognised and a release that overtakes its reserve still wins. Never used twice.
 *
 * @param incarnation 64 random bits drawn when the router's instance started
 * @param router the router loop's index within its instance
 * @param counter rises by one with each attempt of that loop
 */
@Wire.Key
public record AttemptId(@Wire(FIXED) long incarnation, int router, long counter) {}
