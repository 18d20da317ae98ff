/**
 * Instances as the nodes of one cluster. Here is what its parts have in common: who may be which
 * node.
 */
@NullMarked
package dev.berth.cluster;

import org.jspecify.annotations.NullMarked;
