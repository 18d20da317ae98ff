package dev.berth.it.app;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.Deployment;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Map;

/** Waits on a timer, then answers with its version and its setting. */
public final class FlowApplication {
  private static final Duration WAIT = Duration.ofMillis(10);

  private FlowApplication() {}

  /**
   * @param args {@code version}; {@code broken}: its replicas do not start
   */
  public static Application build(Map<String, Object> args) {
    Object version = args.getOrDefault("version", 1);
    boolean broken = Boolean.TRUE.equals(args.get("broken"));
    return Application.of(
        Deployment.of(
            "work",
            replica -> {
              if (broken) {
                throw new IllegalStateException("version " + version + " is broken");
              }
              return new Handler(version);
            }));
  }

  private static final class Handler implements AsyncHandler {
    private final Object version;
    private volatile Object setting = "";

    Handler(Object version) {
      this.version = version;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      return context.after(WAIT).map(none -> Response.text(version + " " + setting));
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) {
      setting = userConfig.getOrDefault("setting", "");
    }
  }
}
