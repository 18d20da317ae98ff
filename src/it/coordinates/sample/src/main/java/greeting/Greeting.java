package greeting;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;

/** One deployment, which greets who is named in the query. */
public final class Greeting {
  private Greeting() {}

  public static Application build() {
    return Application.of(
        Deployment.async(
            "greeting",
            (request, context) -> {
              String name = request.queryParameter("name");
              context.logger().info("greets {}", name);
              return Future.succeededFuture(
                  Response.text("hello " + (name == null ? "you" : name) + "\n"));
            }));
  }
}
