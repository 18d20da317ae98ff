/**
 * Web applications as deployments, in two forms. A {@link io.vertx.ext.web.Router} of vertx-web
 * runs behind the slots of a replica: it receives a request and a response of Berth in place of
 * those of a socket, so that it runs on any node. Typed routes bind requests to records and
 * describe themselves by an OpenAPI document; they need no Vert.x.
 *
 * <p>Source: {@code serve.ingress} of Ray Serve, which places a FastAPI application behind a
 * deployment.
 */
@NullMarked
package dev.berth.web;

import org.jspecify.annotations.NullMarked;
