/**
 * The packaged jar as a process of its own, over real sockets. Each test class has its servers; a
 * server is ended with its test, whatever the test came to.
 */
@NullMarked
package dev.berth.it;

import org.jspecify.annotations.NullMarked;
