/**
 * The key and the certificates of whoever speaks TLS, ingress and links alike: read from their
 * files, checked against each other, and looked at anew. What reads files blocks.
 */
@NullMarked
package dev.berth.net.tls;

import org.jspecify.annotations.NullMarked;
