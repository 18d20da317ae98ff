/**
 * Shows and steers an instance over HTTP, apart from its traffic: health, metrics, ledgers. It runs
 * on the control event loop, listens on loopback unless told otherwise, and reads through ports; it
 * owns no state.
 *
 * <p>Source: the paths of Ray Serve's REST API.
 */
@NullMarked
package dev.berth.admin;

import org.jspecify.annotations.NullMarked;
