/**
 * What user code compiles against: handlers, requests and responses, bodies that are values,
 * deployment handles, replica selections, and the one family of errors. Nothing here reaches into
 * the runtime; the runtime implements these types. Values are immutable and may cross threads; a
 * {@link dev.berth.api.ResponseWriter} and a received stream belong to one context each, as their
 * javadoc says.
 *
 * <p>Source: the choose / dispatch contract of Ray #63252 and #63254; names follow Ray Serve.
 */
@NullMarked
package dev.berth.api;

import org.jspecify.annotations.NullMarked;
