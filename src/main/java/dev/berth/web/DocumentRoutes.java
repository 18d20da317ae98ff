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
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The routes {@code /openapi.json} and {@code /docs}. The page is Swagger UI if the application's
 * jars have {@code org.webjars:swagger-ui}, else a plain list. No page requests another host.
 */
final class DocumentRoutes {
  private static final String WEBJAR = "META-INF/maven/org.webjars/swagger-ui/pom.properties";
  private static final String POLICY =
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";
  private static final Map<String, String> TYPES =
      Map.of("css", "text/css; charset=utf-8", "js", "text/javascript; charset=utf-8");

  /** Files by name, read once per class loader because Swagger UI has two megabytes. */
  private static final ClassValue<Map<String, Buffer>> FILES =
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
    Map<String, Buffer> files = FILES.get(owner);
    String html = read(DocumentRoutes.class.getResourceAsStream("docs.html")).toString();
    boolean plain = !files.containsKey("swagger-ui-bundle.js");
    Buffer page = Buffer.buffer(plain ? html.replaceAll(".*swagger-ui.*\n", "") : html);
    String tag = "\"" + Integer.toHexString(files.hashCode()) + "\"";
    TypedRoutes own = new TypedRoutes(owner, routes.title);
    own.get(
        "/openapi.json",
        Response.class,
        (request, context) -> {
          String prefix = context.routePrefix().isEmpty() ? "/" : context.routePrefix();
          JsonArray servers = new JsonArray().add(new JsonObject().put("url", prefix));
          return Response.json(200, document.copy().put("servers", servers).encode());
        });
    own.get(
        "/docs",
        Response.class,
        (request, context) ->
            Response.of(200, "text/html; charset=utf-8", page)
                .withHeader("content-security-policy", POLICY));
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
          String type = TYPES.get(name.substring(name.lastIndexOf('.') + 1));
          return Response.of(known ? 304 : 200, type, known ? Buffer.buffer() : bytes)
              .withHeader("cache-control", "max-age=3600")
              .withHeader("etag", tag);
        });
    Set<String> taken =
        routes.routes.stream().map(DocumentRoutes::shapeOf).collect(Collectors.toSet());
    return own.routes.stream().filter(each -> !taken.contains(shapeOf(each))).toList();
  }

  private static String shapeOf(TypedRoute route) {
    return route.template.replaceAll("\\{\\w+}", "{}");
  }

  /** Returns the files of the page: its script, and those of Swagger UI if a loader has it. */
  static Map<String, Buffer> filesOf(ClassLoader loader) {
    Map<String, Buffer> files = new HashMap<>();
    files.put("start.js", read(DocumentRoutes.class.getResourceAsStream("start.js")));
    InputStream properties = loader.getResourceAsStream(WEBJAR);
    if (properties != null) {
      String version = read(properties).toString().replaceAll("(?s).*version=(\\S+).*", "$1");
      for (String name : List.of("swagger-ui.css", "swagger-ui-bundle.js")) {
        String file = "META-INF/resources/webjars/swagger-ui/" + version + "/" + name;
        InputStream found = loader.getResourceAsStream(file);
        if (found != null) {
          files.put(name, read(found));
        }
      }
    }
    return files;
  }

  private static Buffer read(@Nullable InputStream in) {
    try (in) {
      return Buffer.buffer(in.readAllBytes());
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
