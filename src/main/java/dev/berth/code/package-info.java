/**
 * A jar becomes an application, once per build: found, loaded by a class loader of its own, built
 * by its builder, shared by the revisions that differ in nothing but settings, and given back when
 * no replica of it is left. Reading blocks and runs user code, so it is done on threads of its own;
 * what is held belongs to the control loop.
 *
 * <p>Source: Ray Serve's {@code build_app} and its {@code DeploymentVersion}.
 */
@NullMarked
package dev.berth.code;

import org.jspecify.annotations.NullMarked;
