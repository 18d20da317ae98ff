/**
 * What is declared, the commands that change it, and the log that keeps it. A command computes on
 * an immutable state; the change that it proposes is committed, then applied: the state is replaced
 * and the controller is told. Commands may block and run off the loops, one after the other; what
 * is applied belongs to the control loop. It promises that what was acknowledged outlasts a crash,
 * and that a command which could not be kept has changed nothing.
 *
 * <p>Source: Ray Serve's REST API for the commands; the journals of etcd and SQLite for the log.
 */
@NullMarked
package dev.berth.desired;

import org.jspecify.annotations.NullMarked;
