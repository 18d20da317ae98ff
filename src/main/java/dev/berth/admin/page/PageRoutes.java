package dev.berth.admin.page;

import dev.berth.admin.AdminAuthFilter;
import dev.berth.admin.AdminResponses;
import dev.berth.admin.AdminRoutes;
import dev.berth.admin.DigestingFileWriter;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.InputStream;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Serves the page of an instance: {@code GET /} for a browser, its files below {@code /page/}, and
 * {@code GET /api/v1/whoami}. The files are resources of the jar, each read once, at its first
 * request.
 */
public final class PageRoutes implements AdminRoutes {
  /** Headers that forbid other servers, inline code, frames, and HTML made from a text. */
  private static final Map<String, String> HEADERS =
      Map.of(
          "Content-Security-Policy",
          "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none';"
              + " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
          "X-Frame-Options",
          "DENY",
          "X-Content-Type-Options",
          "nosniff",
          "Referrer-Policy",
          "no-referrer",
          "Cross-Origin-Opener-Policy",
          "same-origin",
          "Cross-Origin-Resource-Policy",
          "same-origin",
          "Cache-Control",
          "no-cache");

  private static final String INDEX = "index.html";

  /** A name of a file, at most two folders deep. No other resource of the jar matches. */
  private static final Pattern NAME =
      Pattern.compile("(?:[A-Za-z0-9_-]{1,64}/){0,2}[A-Za-z0-9_.-]{1,64}\\.([a-z0-9]{1,5})");

  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "json", "application/json; charset=utf-8",
          "txt", "text/plain; charset=utf-8",
          "svg", "image/svg+xml",
          "png", "image/png");

  /** A file with its media type and entity tag. */
  private record PageFile(String type, Buffer bytes, String tag) {}

  private final Map<String, PageFile> files = new ConcurrentHashMap<>(); // only existing ones
  private final boolean tokens;
  private final String node;
  private final String version;

  /**
   * @param tokens whether clients need a token for all other requests
   * @param node name of this node
   * @param version version of Berth
   */
  public PageRoutes(boolean tokens, String node, String version) {
    this.tokens = tokens;
    this.node = node;
    this.version = version;
  }

  @Override
  public void mount(Router router) {
    router.get("/").handler(this::index);
    router.get(AdminAuthFilter.PAGE + "*").handler(this::file);
    router.get("/api/v1/whoami").handler(this::caller);
  }

  /** Sends the name and the role of the caller, so that the page shows permitted actions only. */
  private void caller(RoutingContext context) {
    String known = AdminAuthFilter.knownCallerOf(context);
    AdminResponses.json(
        context,
        200,
        new JsonObject()
            .put("name", known == null ? null : known.substring("token ".length()))
            .put("role", AdminAuthFilter.roleOf(context).name().toLowerCase(Locale.ROOT))
            .put("tokens", tokens)
            .put("node", node)
            .put("version", version));
  }

  private void index(RoutingContext context) {
    context.response().putHeader(HttpHeaders.VARY, HttpHeaders.ACCEPT);
    if (AdminAuthFilter.wantsPage(context.request())) {
      send(context, INDEX);
    } else {
      context.next();
    }
  }

  private void file(RoutingContext context) {
    String name = context.request().path().substring(AdminAuthFilter.PAGE.length());
    if (name.equals(INDEX)) {
      context.fail(404); // the page has one address
    } else {
      send(context, name);
    }
  }

  private void send(RoutingContext context, String name) {
    PageFile known = files.get(name);
    Future<@Nullable PageFile> found =
        known == null
            ? context.vertx().executeBlocking(() -> read(name), false)
            : Future.succeededFuture(known);
    found.onSuccess(file -> send(context, file)).onFailure(context::fail);
  }

  private static void send(RoutingContext context, @Nullable PageFile file) {
    if (file == null) {
      context.fail(404); // not passed on: a worker would forward it without a token
      return;
    }
    HttpServerResponse response = context.response();
    HEADERS.forEach(response::putHeader);
    response.putHeader(HttpHeaders.ETAG, file.tag);
    String known = context.request().getHeader(HttpHeaders.IF_NONE_MATCH);
    if (known != null && known.contains(file.tag)) {
      response.setStatusCode(304).end();
    } else {
      response.putHeader(HttpHeaders.CONTENT_TYPE, file.type).end(file.bytes);
    }
  }

  /** Reads a file of the page; returns null if there is none of this name. */
  private @Nullable PageFile read(String name) throws IOException {
    Matcher matcher = NAME.matcher(name);
    String type = matcher.matches() ? TYPES.get(matcher.group(1)) : null;
    if (type == null) {
      return null;
    }
    try (InputStream in = PageRoutes.class.getResourceAsStream(name)) {
      if (in == null) {
        return null;
      }
      byte[] bytes = in.readAllBytes();
      String tag =
          '"' + HexFormat.of().formatHex(DigestingFileWriter.sha256().digest(bytes), 0, 16) + '"';
      PageFile made = new PageFile(type, Buffer.buffer(bytes), tag);
      files.put(name, made);
      return made;
    }
  }
}
