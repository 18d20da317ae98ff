package dev.berth.cli.dev;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Application that answers each request with 503 and the errors of the last build. Its jar contains
 * a copy of this class and the errors.
 */
public final class ErrorPage {
  /** Name of the jar's file with the errors. */
  static final String ERRORS = "berth-errors.txt";

  private ErrorPage() {}

  /** Builds the application; called by the instance. */
  public static Application build() throws IOException {
    String errors;
    try (InputStream in = ErrorPage.class.getClassLoader().getResourceAsStream(ERRORS)) {
      errors = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    Buffer page = Buffer.buffer(errors);
    return Application.of(
        Deployment.async(
            "build-errors",
            (request, context) ->
                Future.succeededFuture(Response.of(503, "text/plain; charset=utf-8", page))));
  }
}
