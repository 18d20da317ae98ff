/**
 * What nodes ask of one another by HTTPS: code, and what operators ask of any of them. Ports of the
 * rest of the cluster come in by constructors.
 */
@NullMarked
package dev.berth.cluster.http;

import org.jspecify.annotations.NullMarked;
