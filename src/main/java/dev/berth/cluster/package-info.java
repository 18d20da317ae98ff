/**
 * Instances as nodes of one cluster. This package contains the common part: the check of a node's
 * identity.
 */
@NullMarked
package dev.berth.cluster;

import org.jspecify.annotations.NullMarked;
