/**
 * Monitors and controls an instance over HTTP, apart from its traffic: health, metrics, ledgers.
 * Runs on the control event loop, listens on loopback unless configured otherwise, and reads
 * through ports; owns no state.
 *
 * <p>Source: the paths of Ray Serve's REST API.
 */
@NullMarked
package dev.berth.admin;

import org.jspecify.annotations.NullMarked;
