package dev.berth.web;

import dev.berth.api.Headers;
import java.lang.reflect.RecordComponent;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Binding of path, query and header parameters to a record. Immutable. */
final class ParameterBinder {
  /**
   * A parameter.
   *
   * @param component name of the record component
   * @param in path, query or header
   * @param name name in the request
   */
  record Parameter(
      String component,
      String in,
      String name,
      ValueModel model,
      boolean optional,
      @Nullable String defaultText) {

    /** Returns the type of one text: that of the elements for a list. */
    ScalarType type() {
      ScalarType scalar = model.isList() ? model.element().scalar() : model.scalar();
      if (scalar == null || model.isList() && model.raw() != List.class) {
        throw new IllegalArgumentException(
            "parameter %s: %s (expected: a scalar, or an Optional or List of one)"
                .formatted(component, model.raw().getSimpleName()));
      }
      return scalar;
    }

    boolean required() {
      return model.required() && defaultText == null && !model.isList();
    }
  }

  final List<Parameter> parameters = new ArrayList<>();
  private final RecordModel members;
  private final boolean query;

  /**
   * Analyzes a record class.
   *
   * @throws IllegalArgumentException when a component cannot be a parameter
   */
  ParameterBinder(Class<?> type, List<String> pathNames, TypeModels models) {
    if (!type.isRecord()) {
      throw new IllegalArgumentException(
          "parameters: " + type.getName() + " (expected: a record, or TypedRequest.Empty)");
    }
    members = new RecordModel(type);
    for (RecordComponent each : type.getRecordComponents()) {
      HeaderName header = each.getAnnotation(HeaderName.class);
      QueryName named = each.getAnnotation(QueryName.class);
      DefaultValue text = each.getAnnotation(DefaultValue.class);
      String in = pathNames.contains(each.getName()) ? "path" : header == null ? "query" : "header";
      String name =
          in.equals("path") || header == null && named == null
              ? each.getName()
              : header != null ? header.value() : named.value();
      boolean optional = each.getType() == Optional.class;
      Parameter parameter =
          new Parameter(
              each.getName(),
              in,
              name,
              models.of(each),
              optional,
              text == null ? null : text.value());
      if (text != null) {
        parameter.type().parse().apply(text.value());
      }
      parameter.type();
      parameters.add(parameter);
    }
    query = parameters.stream().anyMatch(each -> each.in.equals("query"));
  }

  /** Returns the name of a component's parameter and its place, for a violation. */
  Optional<Parameter> named(String component) {
    return parameters.stream().filter(each -> each.component.equals(component)).findFirst();
  }

  /** Returns the record; null when there are problems. */
  @Nullable Object bind(
      Map<String, String> path,
      @Nullable String queryText,
      Headers headers,
      boolean limits,
      ProblemList problems) {
    Map<String, List<String>> queries = query ? parse(queryText) : Map.of();
    Object[] values = new Object[parameters.size()];
    for (int i = 0; i < values.length; i++) {
      Parameter each = parameters.get(i);
      List<String> texts =
          switch (each.in) {
            case "path" -> List.of(path.get(each.name));
            case "query" -> queries.getOrDefault(each.name, List.of());
            default -> headers.all(each.name);
          };
      Object value = valueOf(each, texts, problems);
      values[i] = each.optional ? Optional.ofNullable(value) : value;
      if (value != null) {
        new ValueCheck(each.in, limits, null, problems).check(each.model, value, each.name);
      }
    }
    if (!problems.isEmpty()) {
      return null;
    }
    try {
      return members.create(values);
    } catch (IllegalArgumentException refused) {
      problems.add("query", "", String.valueOf(refused.getMessage()));
      return null;
    }
  }

  private static @Nullable Object valueOf(
      Parameter parameter, List<String> given, ProblemList problems) {
    List<String> texts =
        given.isEmpty() && parameter.defaultText != null ? List.of(parameter.defaultText) : given;
    boolean list = parameter.model.isList();
    if (texts.isEmpty() && !list && parameter.model.required()) {
      problems.add(parameter.in, parameter.name, "missing (expected: a value)");
    } else if (texts.size() > 1 && !list) {
      problems.add(parameter.in, parameter.name, texts.size() + " values (expected: one)");
    } else {
      List<Object> values = new ArrayList<>(texts.size());
      for (String text : texts) {
        try {
          values.add(parameter.type().parse().apply(text));
        } catch (RuntimeException invalid) {
          String expected = parameter.type().expected();
          problems.add(parameter.in, parameter.name, shown(text) + " (expected: " + expected + ")");
        }
      }
      return list ? List.copyOf(values) : values.isEmpty() ? null : values.get(0);
    }
    return null;
  }

  private static String shown(String text) {
    return text.length() <= 100 ? text : text.substring(0, 100) + "…";
  }

  private static Map<String, List<String>> parse(@Nullable String query) {
    if (query == null) {
      return Map.of();
    }
    Map<String, List<String>> values = new HashMap<>();
    for (String part : query.split("&")) {
      int equals = part.indexOf('=');
      String name = decode(equals < 0 ? part : part.substring(0, equals));
      String value = equals < 0 ? "" : decode(part.substring(equals + 1));
      values.computeIfAbsent(name, absent -> new ArrayList<>(1)).add(value);
    }
    return values;
  }

  private static String decode(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return text; // as Request.queryParameter does
    }
  }
}
