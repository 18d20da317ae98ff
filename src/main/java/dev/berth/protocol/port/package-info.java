/**
 * The ports between routers, replicas and controllers, which never import each other. Each port has
 * one contract test, inherited by every implementation (local, wire).
 */
@NullMarked
package dev.berth.protocol.port;

import org.jspecify.annotations.NullMarked;
