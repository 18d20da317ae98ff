package dev.berth.web;

import dev.berth.web.TypedRequest.NoValue;
import java.util.ArrayList;
import java.util.List;

/**
 * The routes of a deployment, declared by a {@link RouteSetup}. Confined to its call.
 *
 * <p>A template such as {@code /items/{id}} is relative to the route prefix of the application.
 * Literal segments precede parameters. A record of the application declares parameters: components
 * with the name of a path parameter, else query parameters, or headers by {@link HeaderName}. An
 * {@code Optional} is optional, a {@code List} is repeated. A result class may be an array, for a
 * list of values, {@code String} for text, {@code Void} for none, or {@link
 * dev.berth.api.Response}.
 */
public final class TypedRoutes {
  final List<TypedRoute> routes = new ArrayList<>();
  final TypeModels models;
  String title;
  String version = "1";
  boolean documented = true;

  TypedRoutes(Class<?> owner, String title) {
    this.models = new TypeModels(owner);
    this.title = title;
  }

  /** Sets title and version of the OpenAPI document; default: the name of the deployment and 1. */
  public void describe(String newTitle, String newVersion) {
    title = newTitle;
    version = newVersion;
  }

  /** Removes {@code /openapi.json} and {@code /docs}. */
  public void withoutDocuments() {
    documented = false;
  }

  /** Declares a GET route without parameters of a record; it also serves HEAD. */
  public TypedRoute get(String path, Class<?> result, RouteFunction<NoValue, NoValue> code) {
    return add("GET", path, NoValue.class, NoValue.class, result, code);
  }

  /** Declares a GET route with parameters; it also serves HEAD. */
  public <P extends Record> TypedRoute get(
      String path, Class<P> parameters, Class<?> result, RouteFunction<P, NoValue> code) {
    return add("GET", path, parameters, NoValue.class, result, code);
  }

  /** Declares a DELETE route without parameters of a record. */
  public TypedRoute delete(String path, Class<?> result, RouteFunction<NoValue, NoValue> code) {
    return add("DELETE", path, NoValue.class, NoValue.class, result, code);
  }

  /** Declares a DELETE route with parameters. */
  public <P extends Record> TypedRoute delete(
      String path, Class<P> parameters, Class<?> result, RouteFunction<P, NoValue> code) {
    return add("DELETE", path, parameters, NoValue.class, result, code);
  }

  /** Declares a POST route with a body. */
  public <B> TypedRoute post(
      String path, Class<B> body, Class<?> result, RouteFunction<NoValue, B> code) {
    return add("POST", path, NoValue.class, body, result, code);
  }

  /** Declares a POST route with parameters and a body. */
  public <P extends Record, B> TypedRoute post(
      String path, Class<P> parameters, Class<B> body, Class<?> result, RouteFunction<P, B> code) {
    return add("POST", path, parameters, body, result, code);
  }

  /** Declares a PUT route with a body. */
  public <B> TypedRoute put(
      String path, Class<B> body, Class<?> result, RouteFunction<NoValue, B> code) {
    return add("PUT", path, NoValue.class, body, result, code);
  }

  /** Declares a PUT route with parameters and a body. */
  public <P extends Record, B> TypedRoute put(
      String path, Class<P> parameters, Class<B> body, Class<?> result, RouteFunction<P, B> code) {
    return add("PUT", path, parameters, body, result, code);
  }

  /** Declares a PATCH route with a body. */
  public <B> TypedRoute patch(
      String path, Class<B> body, Class<?> result, RouteFunction<NoValue, B> code) {
    return add("PATCH", path, NoValue.class, body, result, code);
  }

  /** Declares a PATCH route with parameters and a body. */
  public <P extends Record, B> TypedRoute patch(
      String path, Class<P> parameters, Class<B> body, Class<?> result, RouteFunction<P, B> code) {
    return add("PATCH", path, parameters, body, result, code);
  }

  @SuppressWarnings("unchecked") // the binder and the reader create these classes
  private <P, B> TypedRoute add(
      String method,
      String template,
      Class<P> parameters,
      Class<B> body,
      Class<?> result,
      RouteFunction<P, B> function) {
    RouteTree.check(template);
    ParameterBinder binder = new ParameterBinder(parameters, RouteTree.namesOf(template), models);
    JsonBodyReader reader =
        body == NoValue.class ? null : new JsonBodyReader(body, models.of(body), models.json(body));
    ValueModel value = models.of(result);
    RouteFunction<Object, Object> erased = (RouteFunction<Object, Object>) (Object) function;
    TypedRoute route = new TypedRoute(method, template, place(), binder, reader, value, erased);
    routes.add(route);
    return route;
  }

  /** Returns the line of the application that declares a route. */
  private static String place() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames
                    .filter(each -> !each.getClassName().equals(TypedRoutes.class.getName()))
                    .findFirst()
                    .map(each -> each.getFileName() + ":" + each.getLineNumber())
                    .orElse("unknown"));
  }
}
