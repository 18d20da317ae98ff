/**
 * Development of applications: the loop of {@code berth dev}, which builds, compiles and deploys a
 * project at each change, and the projects that {@code berth new} writes.
 */
@NullMarked
package dev.berth.cli.dev;

import org.jspecify.annotations.NullMarked;
