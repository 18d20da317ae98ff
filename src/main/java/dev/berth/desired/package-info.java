/**
 * The desired state, the commands that change it, and the log that persists it. A command computes
 * its change on an immutable state; the change is committed, then applied. The new state replaces
 * the old one, and the controller receives the events. Commands may block and run off the loops,
 * one at a time; the applied state is confined to the control loop. Two guarantees hold. An
 * acknowledged command survives a crash, and a command that could not be persisted has changed
 * nothing.
 *
 * <p>Source: Ray Serve's REST API for the commands; the journals of etcd and SQLite for the log.
 */
@NullMarked
package dev.berth.desired;

import org.jspecify.annotations.NullMarked;
