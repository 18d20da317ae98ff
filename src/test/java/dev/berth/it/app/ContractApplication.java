package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.web.WebDeployment;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.openapi.router.RouterBuilder;
import io.vertx.openapi.contract.OpenAPIContract;
import io.vertx.openapi.validation.ValidatedRequest;

/** An application whose routes are those of a contract in its jar. */
public final class ContractApplication {
  public static Application build() {
    return Application.of(
        WebDeployment.router(
            "shop",
            (router, replica) -> {
              OpenAPIContract contract =
                  OpenAPIContract.from(replica.vertx(), "dev/berth/it/app/contract.yaml").await();
              RouterBuilder builder = RouterBuilder.create(replica.vertx(), contract);
              builder
                  .getRoute("addItem")
                  .addHandler(
                      routing -> {
                        ValidatedRequest valid =
                            routing.get(RouterBuilder.KEY_META_DATA_VALIDATED_REQUEST);
                        JsonObject item = valid.getBody().getJsonObject();
                        routing.response().setStatusCode(201);
                        routing.json(item.put("id", 7));
                      });
              builder
                  .getRoute("getItem")
                  .addHandler(
                      routing -> {
                        ValidatedRequest valid =
                            routing.get(RouterBuilder.KEY_META_DATA_VALIDATED_REQUEST);
                        routing.json(
                            new JsonObject()
                                .put("id", valid.getPathParameters().get("id").getLong()));
                      });
              router.route("/*").subRouter(builder.createRouter());
              router.errorHandler(400, ContractApplication::refuse);
            }));
  }

  private static void refuse(RoutingContext routing) {
    Throwable cause = routing.failure() == null ? null : routing.failure().getCause();
    routing.response().setStatusCode(400).end(cause == null ? "Bad Request" : cause.getMessage());
  }
}
