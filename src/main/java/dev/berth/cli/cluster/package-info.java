/** What a cluster to try is made with. */
@NullMarked
package dev.berth.cli.cluster;

import org.jspecify.annotations.NullMarked;
