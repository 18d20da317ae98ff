package dev.berth.web;

import dev.berth.api.Headers;
import java.lang.invoke.MethodType;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A typed route. Its methods complete its description; call them in the setup. */
public final class TypedRoute {
  /** Response header with the route template, for the ingress. */
  static final String ROUTE_HEADER = "x-berth-route";

  static final String JSON = "application/json";

  final String method;
  final String template;
  final String place;
  final List<String> pathNames;
  final ParameterBinder parameters;
  final @Nullable JsonBodyReader body;
  final ValueModel result;
  final RouteFunction<Object, Object> function;
  final Map<Integer, String> otherStatuses = new TreeMap<>();
  String summary = "";
  String operationId = "";
  int status;
  @Nullable String mediaType;
  final Headers bare;
  private final Class<?> boxed;
  final Headers jsonHeaders;
  Headers headers;

  TypedRoute(
      String method,
      String template,
      String place,
      ParameterBinder parameters,
      @Nullable JsonBodyReader body,
      ValueModel result,
      RouteFunction<Object, Object> function) {
    this.method = method;
    this.template = template;
    this.place = place;
    pathNames = RouteTree.namesOf(template);
    this.parameters = parameters;
    this.body = body;
    this.result = result;
    boxed = MethodType.methodType(result.raw()).wrap().returnType();
    this.function = Objects.requireNonNull(function, "function");
    status = result.raw() == Void.class ? 204 : 200;
    mediaType = result.mediaType();
    bare = Headers.of(ROUTE_HEADER, template);
    jsonHeaders = Headers.of("content-type", JSON, ROUTE_HEADER, template);
    headers =
        mediaType == null ? bare : Headers.of("content-type", mediaType, ROUTE_HEADER, template);
  }

  /** Sets the one-line description of the operation. */
  public TypedRoute summary(String text) {
    summary = text;
    return this;
  }

  /** Sets the name of the operation for generated clients; default: the method and the path. */
  public TypedRoute operationId(String id) {
    operationId = id;
    return this;
  }

  /** Sets the status of responses to plain values; default 200, or 204 without a result. */
  public TypedRoute status(int code) {
    status = code;
    return this;
  }

  /** Adds a status to the document, with its description. */
  public TypedRoute responds(int code, String description) {
    otherStatuses.put(code, description);
    return this;
  }

  /** Sets the content type of the result; JSON and plain text are set already. */
  public TypedRoute produces(String contentType) {
    mediaType = contentType;
    headers = Headers.of("content-type", contentType, ROUTE_HEADER, template);
    return this;
  }

  /** Returns whether a plain value fits the result class; a collection fits an array. */
  boolean accepts(Object value) {
    return boxed.isInstance(value) || boxed.isArray() && value instanceof Collection<?>;
  }

  @Override
  public String toString() {
    return method + " " + template + " (" + place + ")";
  }
}
