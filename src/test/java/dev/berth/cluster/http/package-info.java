@NullMarked
package dev.berth.cluster.http;

import org.jspecify.annotations.NullMarked;
