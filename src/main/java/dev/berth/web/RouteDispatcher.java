package dev.berth.web;

import dev.berth.api.Headers;
import dev.berth.api.ReplicaContext;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Service of requests by typed routes: match, negotiate, bind, validate, call, respond. */
final class RouteDispatcher {
  private final RouteTree tree = new RouteTree();
  private final TypeModels models;
  private final @Nullable BeanValidation validation;

  private RouteDispatcher(TypedRoutes routes, Class<?> owner) {
    this.models = routes.models;
    routes.routes.forEach(tree::add);
    if (routes.documented) {
      DocumentRoutes.of(routes, owner).forEach(tree::add);
    }
    this.validation = BeanValidation.find(owner.getClassLoader());
  }

  /** Creates the dispatcher of one replica by its setup. */
  static RouteDispatcher create(RouteSetup setup, ReplicaContext replica) throws Exception {
    TypedRoutes routes = new TypedRoutes(setup.getClass(), replica.deployment().name());
    setup.declare(routes, replica);
    return new RouteDispatcher(routes, setup.getClass());
  }

  /** Serves a request by functions that never block. */
  Future<Response> serve(Request request, RequestContext context) {
    PreparedCall prepared = prepare(request, context);
    if (prepared.response() != null) {
      return Future.succeededFuture(prepared.response());
    }
    try {
      Object result = prepared.route().function.handle(prepared.typed(), context);
      return result instanceof Future<?> future
          ? future.map(value -> respond(prepared.route(), value))
          : Future.succeededFuture(respond(prepared.route(), result));
    } catch (Exception failure) {
      return Future.failedFuture(failure);
    }
  }

  /** Serves a request by functions that may block. */
  Response serveBlocking(Request request, RequestContext context) throws Exception {
    PreparedCall prepared = prepare(request, context);
    return prepared.response() == null
        ? respond(prepared.route(), prepared.route().function.handle(prepared.typed(), context))
        : prepared.response();
  }

  /** Returns whether a template matches the path of a request. */
  boolean matches(Request request, RequestContext context) {
    return tree.find(below(context.routePrefix(), request.path())) != null;
  }

  /** A request that has a response already, or its route and values. */
  private record PreparedCall(
      @Nullable Response response,
      @Nullable TypedRoute route,
      @Nullable TypedRequest<Object, Object> typed) {

    static PreparedCall of(Response response, String template) {
      return new PreparedCall(response.withHeader(TypedRoute.ROUTE_HEADER, template), null, null);
    }
  }

  private PreparedCall prepare(Request request, RequestContext context) {
    RouteTree.RouteMatch match = tree.find(below(context.routePrefix(), request.path()));
    if (match == null) {
      return new PreparedCall(refusal(404, "not_found", "no route has this path"), null, null);
    }
    Map<String, TypedRoute> routes = match.node().routes;
    String method = request.method().equals("HEAD") ? "GET" : request.method();
    TypedRoute route = routes.get(method);
    if (route == null) {
      return PreparedCall.of(
          otherMethod(method, routes), routes.values().iterator().next().template);
    }
    Response refusal = negotiate(route, request.headers());
    if (refusal != null) {
      return PreparedCall.of(refusal, route.template);
    }
    Map<String, String> path = new LinkedHashMap<>();
    for (int i = 0; i < route.pathNames.size(); i++) {
      path.put(route.pathNames.get(i), match.values().get(i));
    }
    ProblemList problems = new ProblemList();
    boolean limits = validation == null;
    Object parameters = route.parameters.bind(path, request, limits, problems);
    Object body =
        route.body == null
            ? new TypedRequest.NoValue()
            : route.body.read(request.bytes(), limits, problems);
    if (validation != null) {
      validation.validate(
          parameters, (part, message) -> route.parameters.addProblem(part, message, problems));
      validation.validate(body, (field, message) -> problems.add("body", field, message));
    }
    return problems.isEmpty()
        ? new PreparedCall(null, route, new TypedRequest<>(parameters, body, request, path))
        : PreparedCall.of(problems.toResponse(), route.template);
  }

  private static String below(String prefix, String path) {
    String folder = prefix.endsWith("/") ? prefix : prefix + "/";
    String whole = path.equals(prefix) ? folder : path; // the prefix itself is its root
    return whole.startsWith(folder) ? whole.substring(folder.length() - 1) : path;
  }

  private static Response otherMethod(String method, Map<String, TypedRoute> routes) {
    TreeSet<String> allowed = new TreeSet<>(routes.keySet());
    allowed.add("OPTIONS");
    if (routes.containsKey("GET")) {
      allowed.add("HEAD");
    }
    String message = method + " (expected: one of " + allowed + ")";
    Response response =
        method.equals("OPTIONS")
            ? Response.of(204, Headers.empty(), new Response.Body.Whole(Buffer.buffer()))
            : refusal(405, "method_not_allowed", message);
    return response.withHeader("allow", String.join(", ", allowed));
  }

  private static @Nullable Response negotiate(TypedRoute route, Headers headers) {
    String type = headers.get("content-type");
    if (route.body != null && type != null && !isJson(type)) {
      String message = "content-type: " + type + " (expected: application/json)";
      return refusal(415, "unsupported_media_type", message);
    }
    String accept = headers.get("accept");
    if (accept == null || route.mediaType == null) {
      return null;
    }
    return MediaRanges.accept(String.join(",", headers.all("accept")), route.mediaType)
        ? null
        : refusal(
            406, "not_acceptable", "accept: " + accept + " (expected: " + route.mediaType + ")");
  }

  private static boolean isJson(String contentType) {
    String type = MediaRanges.typeOf(contentType);
    return type.equals(TypedRoute.JSON)
        || type.startsWith("application/") && type.endsWith("+json");
  }

  private static Response refusal(int status, String code, String message) {
    return Response.json(
        status, new JsonObject().put("code", code).put("message", message).encode());
  }

  /** Returns the response of a result. HEAD has that of GET: the ingress omits its body. */
  private Response respond(TypedRoute route, @Nullable Object result) {
    if (result instanceof Response own) {
      return own.withHeaders(merge(own.headers(), route.bare));
    }
    if (result instanceof TypedResponse typed) {
      Response response = whole(route, typed.status(), typed.value());
      return response.withHeaders(merge(response.headers(), typed.headers()));
    }
    if (result == null ? route.result.raw() == Void.class : route.accepts(result)) {
      return whole(route, route.status, result);
    }
    throw new IllegalStateException(
        "%s: %s (expected: %s, a TypedResponse or a Response)"
            .formatted(
                route,
                result == null ? "null" : result.getClass().getName(),
                route.result.raw().getSimpleName()));
  }

  /** Returns headers whose names the second ones replace. */
  private static Headers merge(Headers base, Headers over) {
    List<String> pairs = new ArrayList<>();
    base.forEach(
        (name, value) -> {
          if (over.get(name) == null) {
            Collections.addAll(pairs, name, value);
          }
        });
    over.forEach((name, value) -> Collections.addAll(pairs, name, value));
    return Headers.of(pairs.toArray(String[]::new));
  }

  private Response whole(TypedRoute route, int status, @Nullable Object value) {
    if (value == null) {
      return Response.of(status, route.bare, new Response.Body.Whole(Buffer.buffer()));
    }
    boolean plain = route.accepts(value);
    boolean text = plain && value instanceof String && !TypedRoute.JSON.equals(route.mediaType);
    Buffer bytes =
        text ? Buffer.buffer((String) value) : models.json(value.getClass()).write(value);
    Headers headers = plain ? route.headers : route.jsonHeaders;
    return Response.of(status, headers, new Response.Body.Whole(bytes));
  }
}
