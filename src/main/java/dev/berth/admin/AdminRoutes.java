package dev.berth.admin;

import io.vertx.core.Future;
import io.vertx.ext.web.Router;
import java.util.function.Supplier;

/** Routes of one area of the admin API. Mounted once; the handlers run on the control loop. */
@FunctionalInterface
public interface AdminRoutes {

  /** Adds the routes of this area. An unhandled failure becomes a 500 response in JSON. */
  void mount(Router router);

  /** Returns the route that drains this instance; each node of a cluster has its own. */
  static AdminRoutes drain(Supplier<Future<Void>> drain) {
    String told = "The instance drains and then stops.";
    return router ->
        router
            .post("/api/v1/drain")
            .handler(context -> AdminResponses.done(context, drain.get(), 202, told, "drain"));
  }
}
