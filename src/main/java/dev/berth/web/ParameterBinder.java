package dev.berth.web;

import dev.berth.api.Request;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Binding of path, query and header parameters to a record. Immutable. */
final class ParameterBinder {
  /**
   * A parameter.
   *
   * @param component name and type of the record component
   * @param in path, query or header
   * @param name name in the request
   * @param model form of the value; {@code type} is the form of one text
   */
  record BoundParameter(
      RecordComponent component,
      String in,
      String name,
      ValueModel model,
      TextType type,
      @Nullable String defaultText) {

    static BoundParameter of(RecordComponent component, List<String> pathNames, ValueModel model) {
      HeaderName header = component.getAnnotation(HeaderName.class);
      QueryName query = component.getAnnotation(QueryName.class);
      DefaultValue text = component.getAnnotation(DefaultValue.class);
      String own = component.getName();
      String in = pathNames.contains(own) ? "path" : header == null ? "query" : "header";
      String name = header != null ? header.value() : query != null ? query.value() : own;
      TextType type = model.raw() == List.class ? model.element().scalar() : model.scalar();
      if (type == null) {
        throw new IllegalArgumentException(
            "parameter %s: %s (expected: a scalar, or an Optional or List of one)"
                .formatted(own, model.raw().getSimpleName()));
      }
      ProblemList problems = new ProblemList();
      String present = text == null ? null : text.value();
      BoundParameter bound =
          new BoundParameter(component, in, in.equals("path") ? own : name, model, type, present);
      bound.parse(List.of(), problems);
      if (present != null && !problems.isEmpty()) {
        throw new IllegalArgumentException(
            "parameter %s: default %s (expected: %s)".formatted(own, present, type.expected()));
      }
      return bound;
    }

    boolean required() {
      return in.equals("path") || model.required() && defaultText == null && !model.isList();
    }

    /** Returns the value of all texts; null when it is absent or invalid. */
    @Nullable Object parse(List<String> given, ProblemList problems) {
      List<String> texts = given.isEmpty() && defaultText != null ? List.of(defaultText) : given;
      if (texts.isEmpty() && required()) {
        problems.add(in, name, "missing (expected: a value)");
      } else if (texts.size() > 1 && !model.isList()) {
        problems.add(in, name, texts.size() + " values (expected: one)");
        return null;
      }
      List<Object> values = new ArrayList<>(texts.size());
      for (String text : texts) {
        try {
          values.add(type.parse().apply(text));
        } catch (RuntimeException invalid) {
          problems.add(in, name, text + " (expected: " + type.expected() + ")");
        }
      }
      return model.isList() ? List.copyOf(values) : values.isEmpty() ? null : values.get(0);
    }
  }

  final List<BoundParameter> parameters = new ArrayList<>();
  private final RecordModel members;

  /**
   * Analyzes a record class.
   *
   * @throws IllegalArgumentException when a component cannot be a parameter
   */
  ParameterBinder(Class<?> type, List<String> pathNames, TypeModels models) {
    members = new RecordModel(type);
    for (RecordComponent each : type.getRecordComponents()) {
      parameters.add(BoundParameter.of(each, pathNames, models.of(each)));
    }
  }

  /** Adds a problem of a component. */
  void addProblem(String component, String message, ProblemList problems) {
    parameters.stream()
        .filter(each -> each.component.getName().equals(component))
        .findFirst()
        .ifPresentOrElse(
            each -> problems.add(each.in, each.name, message),
            () -> problems.add("query", component, message));
  }

  /** Returns the record; null when there are problems. */
  @Nullable Object bind(
      Map<String, String> path, Request request, boolean limits, ProblemList problems) {
    Map<String, List<String>> queries = request.queryParameters();
    Object[] values = new Object[parameters.size()];
    for (int i = 0; i < values.length; i++) {
      BoundParameter each = parameters.get(i);
      List<String> texts =
          switch (each.in) {
            case "path" -> List.of(path.get(each.name));
            case "query" -> queries.getOrDefault(each.name, List.of());
            default -> request.headers().all(each.name);
          };
      Object value = each.parse(texts, problems);
      values[i] = each.component.getType() == Optional.class ? Optional.ofNullable(value) : value;
      if (value != null && limits) {
        new ValueCheck(each.in, true, null, problems).check(each.name, each.model, value);
      }
    }
    try {
      return problems.isEmpty() ? members.create(values) : null;
    } catch (InvocationTargetException refused) {
      if (!(refused.getCause() instanceof IllegalArgumentException)) {
        throw new IllegalStateException(refused.getCause());
      }
      problems.add("query", "", String.valueOf(refused.getCause().getMessage()));
      return null;
    }
  }
}
