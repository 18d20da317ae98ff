/**
 * JSON of records, by the names of their components: what crosses seldom, and is to be added to.
 */
@NullMarked
package dev.berth.protocol.json;

import org.jspecify.annotations.NullMarked;
