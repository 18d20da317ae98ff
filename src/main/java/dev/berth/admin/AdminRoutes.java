package dev.berth.admin;

import io.vertx.ext.web.Router;

/** Routes of one area of the admin API. Mounted once; the handlers run on the control loop. */
@FunctionalInterface
public interface AdminRoutes {

  /** Adds the routes of this area. An unhandled failure becomes a 500 response in JSON. */
  void mount(Router router);
}
