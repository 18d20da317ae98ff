package dev.berth.web;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The OpenAPI 3.1 document of a set of typed routes. */
final class OpenApiDocument {
  private static final String INVALID = "InvalidRequest";
  private static final String INVALID_SCHEMA =
      """
      {"type": "object", "required": ["code", "problems"], "properties": {
        "code": {"type": "string"},
        "problems": {"type": "array", "items": {
          "type": "object", "required": ["in", "field", "message"], "properties": {
            "in": {"enum": ["path", "query", "header", "body"]},
            "field": {"type": "string"},
            "message": {"type": "string"}}}}}}
      """;

  private final Map<Class<?>, String> names = new LinkedHashMap<>();
  private final Set<String> operations = new HashSet<>();

  private OpenApiDocument() {}

  /** Returns the document without servers. */
  static JsonObject of(TypedRoutes routes) {
    return new OpenApiDocument().document(routes);
  }

  private JsonObject document(TypedRoutes routes) {
    nameRecords(routes.models.records());
    Map<String, Map<String, Object>> paths = new LinkedHashMap<>();
    for (TypedRoute each : routes.routes) {
      paths
          .computeIfAbsent(each.template, absent -> new LinkedHashMap<>())
          .put(each.method.toLowerCase(Locale.ROOT), operation(each));
    }
    Map<String, Object> schemas = new LinkedHashMap<>();
    routes.models.records().forEach((type, model) -> schemas.put(names.get(type), schema(model)));
    schemas.put(INVALID, new JsonObject(INVALID_SCHEMA));
    return new JsonObject()
        .put("openapi", "3.1.0")
        .put("info", Map.of("title", routes.title, "version", routes.version))
        .put("paths", paths)
        .put("components", Map.of("schemas", schemas));
  }

  private void nameRecords(Map<Class<?>, RecordModel> records) {
    Set<String> used = new HashSet<>(Set.of(INVALID));
    for (Class<?> type : records.keySet()) {
      String name = type.getSimpleName().replaceAll("[^A-Za-z0-9]", "_"); // as of $
      while (!used.add(name)) {
        name += "_";
      }
      names.put(type, name);
    }
  }

  private Map<String, Object> schema(RecordModel model) {
    Map<String, Object> properties = new LinkedHashMap<>();
    List<String> required = new ArrayList<>();
    for (RecordModel.RecordPart part : model.parts) {
      properties.put(part.name(), part.model().schema(true, names));
      if (part.model().required()) {
        required.add(part.name());
      }
    }
    Map<String, Object> schema = new LinkedHashMap<>();
    schema.put("type", "object");
    schema.put("properties", properties);
    if (!required.isEmpty()) {
      schema.put("required", required);
    }
    return schema;
  }

  private Map<String, Object> operation(TypedRoute route) {
    Map<String, Object> operation = new LinkedHashMap<>();
    operation.put("operationId", operationId(route));
    if (!route.summary.isEmpty()) {
      operation.put("summary", route.summary);
    }
    List<Map<String, Object>> parameters = parameters(route);
    if (!parameters.isEmpty()) {
      operation.put("parameters", parameters);
    }
    if (route.body != null) {
      Map<String, Object> schema = route.body.model().schema(false, names);
      operation.put("requestBody", Map.of("required", true, "content", json(schema)));
    }
    operation.put("responses", responses(route, !parameters.isEmpty() || route.body != null));
    return operation;
  }

  private String operationId(TypedRoute route) {
    StringBuilder id = new StringBuilder(route.operationId);
    if (id.isEmpty()) {
      id.append(route.method.toLowerCase(Locale.ROOT));
      for (String word : route.template.replace("{", "by/").split("[^A-Za-z0-9]+")) {
        if (!word.isEmpty()) {
          id.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
        }
      }
    }
    while (!operations.add(id.toString())) {
      id.append('_');
    }
    return id.toString();
  }

  private List<Map<String, Object>> parameters(TypedRoute route) {
    List<Map<String, Object>> parameters = new ArrayList<>();
    for (ParameterBinder.BoundParameter each : route.parameters.parameters) {
      Map<String, Object> schema = new LinkedHashMap<>(each.model().schema(false, names));
      if (each.defaultText() != null) {
        Object value = each.type().parse().apply(each.defaultText());
        boolean plain = value instanceof Number || value instanceof Boolean;
        Object shown = plain ? value : each.defaultText();
        schema.put("default", each.model().isList() ? List.of(shown) : shown);
      }
      parameters.add(parameter(each.in(), each.name(), each.required(), schema));
    }
    for (String name : route.pathNames) {
      if (parameters.stream()
          .noneMatch(each -> each.get("in").equals("path") && each.get("name").equals(name))) {
        parameters.add(parameter("path", name, true, Map.of("type", "string")));
      }
    }
    return parameters;
  }

  private static Map<String, Object> parameter(
      String in, String name, boolean required, Map<String, Object> schema) {
    return Map.of("in", in, "name", name, "required", required, "schema", schema);
  }

  private Map<String, Object> responses(TypedRoute route, boolean checked) {
    Map<String, Object> responses = new LinkedHashMap<>();
    String type = route.mediaType;
    Map<String, Object> schema =
        TypedRoute.JSON.equals(type) ? route.result.schema(false, names) : Map.of("type", "string");
    Map<Integer, String> statuses = new TreeMap<>(route.otherStatuses);
    statuses.putIfAbsent(route.status, "Success");
    statuses.forEach(
        (code, text) ->
            responses.put(
                code.toString(),
                type == null || code >= 300 || code == 204
                    ? Map.of("description", text)
                    : Map.of("description", text, "content", content(type, schema))));
    if (checked) {
      Map<String, Object> problems = Map.of("$ref", "#/components/schemas/" + INVALID);
      responses.put("400", Map.of("description", "Invalid request", "content", json(problems)));
    }
    return responses;
  }

  private static Map<String, Object> json(Map<String, Object> schema) {
    return content(TypedRoute.JSON, schema);
  }

  private static Map<String, Object> content(String type, Map<String, Object> schema) {
    return Map.of(MediaRanges.typeOf(type), Map.of("schema", schema));
  }
}
