/** Certificates of trial clusters. */
@NullMarked
package dev.berth.cli.cluster;

import org.jspecify.annotations.NullMarked;
