/**
 * The loading of application code, once per build: find the jars, load them with a class loader of
 * their own, and call the builder. Revisions that differ only in settings share a build. The build
 * is released when no replica uses it. Reading blocks and runs user code, so it runs on separate
 * threads; the loaded builds are confined to the control loop.
 *
 * <p>Source: Ray Serve's {@code build_app} and its {@code DeploymentVersion}.
 */
@NullMarked
package dev.berth.code;

import org.jspecify.annotations.NullMarked;
