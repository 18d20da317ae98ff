/**
 * Key and certificates of TLS endpoints, for ingress and links: reads the files, checks that they
 * match, and watches them for changes. Reading blocks.
 */
@NullMarked
package dev.berth.net.tls;

import org.jspecify.annotations.NullMarked;
