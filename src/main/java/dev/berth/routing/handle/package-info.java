/**
 * Implements the API of user code: the handle of a deployment on a loop, its calls, chooses and
 * broadcasts. The other routing packages do not depend on this one.
 */
@NullMarked
package dev.berth.routing.handle;

import org.jspecify.annotations.NullMarked;
