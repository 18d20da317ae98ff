/**
 * Web applications as deployments: a {@link io.vertx.ext.web.Router} of vertx-web behind the slots
 * of a replica. The Router receives a request and a response of Berth in place of those of a
 * socket, so that it runs on any node.
 *
 * <p>Source: {@code serve.ingress} of Ray Serve, which places a FastAPI application behind a
 * deployment.
 */
@NullMarked
package dev.berth.web;

import org.jspecify.annotations.NullMarked;
