package dev.berth.cluster.http;

import dev.berth.admin.AdminRoutes;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.Future;
import io.vertx.ext.web.Router;
import java.util.function.BiFunction;

/**
 * The route {@code GET /api/v1/cluster/builds/{application}/{build}} of a control node. Returns the
 * source of a build for another node, {@code {"entry", "jars": [{"name", "sha256", "bytes"}]}}.
 *
 * @param sources returns a source by application and build name; called on the control loop
 */
public record BuildRoutes(BiFunction<String, String, Future<BuildSource>> sources)
    implements AdminRoutes {

  @Override
  public void mount(Router router) {
    router
        .get("/api/v1/cluster/builds/:application/:build")
        .handler(
            context ->
                sources
                    .apply(context.pathParam("application"), context.pathParam("build"))
                    .onComplete(
                        source -> context.json(new RecordWriter().record(source)), context::fail));
  }
}
