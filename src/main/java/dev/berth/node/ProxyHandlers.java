package dev.berth.node;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.api.Response;
import dev.berth.code.BuiltInHandlers;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;

/**
 * The handlers of the built-in application {@code berth:proxy}.
 *
 * @param config of the instance
 */
record ProxyHandlers(ServeConfig config) implements BuiltInHandlers {

  @Override
  public HandlerFactory of(DeploymentId deployment) {
    Response none = Response.text("").withStatus(501);
    return replica -> (AsyncHandler) (request, context) -> Future.succeededFuture(none);
  }
}
