/**
 * What the build itself needs to know of the tests: how long each group took, and whether that is
 * within its budget. {@link dev.berth.build.TestGroupListener} runs in every test process and
 * leaves a file; {@link dev.berth.build.TestGroupTable} reads them at the end.
 */
@NullMarked
package dev.berth.build;

import org.jspecify.annotations.NullMarked;
