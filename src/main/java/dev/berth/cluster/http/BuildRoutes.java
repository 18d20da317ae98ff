package dev.berth.cluster.http;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.ServeJson;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.port.CommandRefused;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /api/v1/cluster/builds/{application}/{build}} on a control node: what another node
 * builds it from, {@code {"entry": {…}, "jars": [{"name", "sha256", "bytes"}]}}.
 */
public record BuildRoutes(Sources sources) implements AdminRoutes {

  /** Where builds come from. Control loop. */
  @FunctionalInterface
  public interface Sources {
    /** Completes with null when there is no such build. */
    Future<@Nullable BuildSource> find(String application, String build);
  }

  @Override
  public void mount(Router router) {
    router.get("/api/v1/cluster/builds/:application/:build").handler(this::find);
  }

  private void find(RoutingContext context) {
    String application = context.pathParam("application");
    String build = context.pathParam("build");
    sources
        .find(application, build)
        .onComplete(
            source -> {
              if (source == null) {
                String why = "build: %s of %s (expected: one that is held)";
                context.fail(
                    new CommandRefused(
                        CommandRefused.Kind.NOT_FOUND, why.formatted(build, application)));
              } else {
                context.json(ServeJson.of(source).put("entry", new JsonObject(source.entry())));
              }
            },
            context::fail);
  }
}
