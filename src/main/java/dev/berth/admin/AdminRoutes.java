package dev.berth.admin;

import io.vertx.ext.web.Router;

/** What one area of the admin API answers. Mounted once; its handlers run on the control loop. */
@FunctionalInterface
public interface AdminRoutes {

  /** Adds the area's routes. A failure they do not answer themselves becomes a 500 in JSON. */
  void mount(Router router);
}
