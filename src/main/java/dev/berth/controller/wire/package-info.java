/**
 * The form in which what a controller wants of other instances, and what they tell it, crosses
 * between them: JSON, since there is little of it. What a form does not know it passes over, so
 * that it can be added to; what it lacks it names.
 */
@NullMarked
package dev.berth.controller.wire;

import org.jspecify.annotations.NullMarked;
