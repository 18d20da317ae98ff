/**
 * The public API that user code compiles against: handlers, requests and responses, typed values,
 * deployment handles, replica selections, and one family of errors. The runtime implements these
 * types; none of them depends on the runtime. Values are immutable and may cross threads. A {@link
 * dev.berth.api.ResponseWriter} and a received stream are each confined to one context, as their
 * Javadoc states.
 *
 * <p>Source: the choose and dispatch contract of Ray #63252 and #63254; names follow Ray Serve.
 */
@NullMarked
package dev.berth.api;

import org.jspecify.annotations.NullMarked;
