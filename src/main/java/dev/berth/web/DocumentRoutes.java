package dev.berth.web;

import dev.berth.api.Response;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * The routes {@code /openapi.json} and {@code /docs}. The page is Swagger UI if the application's
 * jars have {@code org.webjars:swagger-ui}, else a plain list. No page requests another host.
 */
final class DocumentRoutes {
  private static final String WEBJAR = "META-INF/maven/org.webjars/swagger-ui/pom.properties";
  private static final String POLICY =
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";
  private static final String START = "start.js";
  private static final String SCRIPT =
      "SwaggerUIBundle({url: 'openapi.json', dom_id: '#ui', validatorUrl: null});";
  private static final Map<String, String> FILES =
      Map.of(
          "swagger-ui.css",
          "text/css; charset=utf-8",
          "swagger-ui-bundle.js",
          "text/javascript; charset=utf-8",
          START,
          "text/javascript; charset=utf-8");

  /** Files of Swagger UI, read once per class loader because they have two megabytes. */
  private static final ClassValue<Map<String, Buffer>> SWAGGER =
      new ClassValue<>() {
        @Override
        protected Map<String, Buffer> computeValue(Class<?> owner) {
          return filesOf(owner.getClassLoader());
        }
      };

  private DocumentRoutes() {}

  /** Returns the routes of the documents, without templates that the application has itself. */
  static List<TypedRoute> of(TypedRoutes routes, Class<?> owner) {
    JsonObject document = OpenApiDocument.of(routes);
    Map<String, Buffer> files = SWAGGER.get(owner);
    String page = files.isEmpty() ? list(document) : swagger(routes.title);
    TypedRoutes own = new TypedRoutes(owner, routes.title);
    own.get(
        "/openapi.json",
        Response.class,
        (request, context) -> {
          String prefix = context.routePrefix().isEmpty() ? "/" : context.routePrefix();
          JsonArray servers = new JsonArray().add(Map.of("url", prefix));
          return Response.json(200, document.copy().put("servers", servers).encode());
        });
    own.get("/docs", Response.class, (request, context) -> html(page));
    if (!files.isEmpty()) {
      String tag = "\"" + Integer.toHexString(files.hashCode()) + "\"";
      own.get(
          "/docs/{file}",
          Response.class,
          (request, context) -> {
            String name = request.pathParameters().get("file");
            Buffer bytes = files.get(name);
            if (bytes == null) {
              return Response.text("no such file").withStatus(404);
            }
            boolean known = tag.equals(request.http().headers().get("if-none-match"));
            return Response.of(known ? 304 : 200, FILES.get(name), known ? Buffer.buffer() : bytes)
                .withHeader("cache-control", "max-age=86400")
                .withHeader("etag", tag);
          });
    }
    List<String> taken = routes.routes.stream().map(each -> each.template).toList();
    return own.routes.stream().filter(each -> !taken.contains(each.template)).toList();
  }

  private static Response html(String page) {
    return Response.of(200, "text/html; charset=utf-8", Buffer.buffer(page))
        .withHeader("content-security-policy", POLICY)
        .withHeader("cache-control", "no-cache");
  }

  /** Returns the files of Swagger UI in the jars of a class loader; empty without them. */
  private static Map<String, Buffer> filesOf(@Nullable ClassLoader loader) {
    Map<String, Buffer> files = new HashMap<>();
    try (InputStream found = loader == null ? null : loader.getResourceAsStream(WEBJAR)) {
      if (found == null) {
        return Map.of();
      }
      Properties properties = new Properties();
      properties.load(found);
      String folder =
          "META-INF/resources/webjars/swagger-ui/" + properties.getProperty("version") + "/";
      for (String name : FILES.keySet()) {
        try (InputStream file = loader.getResourceAsStream(folder + name)) {
          if (file == null && !name.equals(START)) {
            return Map.of();
          }
          files.put(
              name, file == null ? Buffer.buffer(SCRIPT) : Buffer.buffer(file.readAllBytes()));
        }
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    return files;
  }

  private static String swagger(String title) {
    return """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>%s</title>
        <link rel="stylesheet" href="docs/swagger-ui.css"><link rel="icon" href="data:,">
        <div id="ui"></div>
        <script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script></html>
        """
        .formatted(escape(title));
  }

  /** Returns a page that lists the operations of a document. */
  private static String list(JsonObject document) {
    StringBuilder rows = new StringBuilder();
    for (Map.Entry<String, Object> path : document.getJsonObject("paths")) {
      for (Map.Entry<String, Object> each : (JsonObject) path.getValue()) {
        String summary = ((JsonObject) each.getValue()).getString("summary", "");
        rows.append("<tr><td>").append(each.getKey().toUpperCase(Locale.ROOT));
        rows.append("<td><code>").append(escape(path.getKey())).append("</code><td>");
        rows.append(escape(summary)).append('\n');
      }
    }
    return """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>%1$s</title>
        <link rel="icon" href="data:,"><h1>%1$s</h1>
        <table>%2$s</table><p><a href="openapi.json">openapi.json</a></html>
        """
        .formatted(escape(document.getJsonObject("info").getString("title")), rows);
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
