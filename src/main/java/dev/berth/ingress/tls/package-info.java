/**
 * The key and the certificates of the port: read, checked against each other, and looked at anew.
 */
@NullMarked
package dev.berth.ingress.tls;

import org.jspecify.annotations.NullMarked;
