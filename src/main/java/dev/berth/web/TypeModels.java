package dev.berth.web;

import dev.berth.api.Json;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Analysis of the types of one set of routes; records are analyzed once. */
final class TypeModels {
  private static final String JAKARTA = "jakarta.validation.constraints.";
  private static final String NOT_BLANK = "\\S";

  private final Class<?> owner;
  private final @Nullable Json json;
  private final Map<Class<?>, RecordModel> records = new LinkedHashMap<>();

  /**
   * Creates the models of an application.
   *
   * @param owner a class of the application, which determines its JSON codec
   */
  TypeModels(Class<?> owner) {
    this.owner = owner;
    this.json = Json.find(owner).map(Json::withIsoTimes).orElse(null);
  }

  /** Returns the JSON codec for values of a class. */
  Json json(Class<?> value) {
    return json == null ? Json.of(value, owner) : json;
  }

  @Nullable Json codec() {
    return json;
  }

  /** Returns the analyzed records, for the schemas of the document. */
  Map<Class<?>, RecordModel> records() {
    return records;
  }

  /** Returns the model of a body or result. */
  ValueModel of(Type type) {
    return of(type, false, new Annotation[0]);
  }

  /** Returns the model of a component; annotations of Jakarta Validation are on its accessor. */
  ValueModel of(RecordComponent component) {
    Annotation[] all =
        Stream.<AnnotatedElement>of(
                component, component.getAccessor(), component.getAnnotatedType())
            .flatMap(each -> Stream.of(each.getAnnotations()))
            .toArray(Annotation[]::new);
    boolean nullable =
        Stream.of(all).anyMatch(each -> each.annotationType().getSimpleName().equals("Nullable"));
    return of(component.getGenericType(), nullable, all);
  }

  private ValueModel of(Type type, boolean nullable, Annotation[] annotations) {
    List<Type> arguments =
        type instanceof ParameterizedType generic
            ? List.of(generic.getActualTypeArguments())
            : List.of();
    Class<?> raw = rawOf(type);
    if (raw == Optional.class && !arguments.isEmpty()) {
      return of(arguments.get(0), true, annotations);
    }
    Type inner = null;
    if (raw.isArray() && raw != byte[].class) {
      inner = raw.getComponentType();
    } else if (Collection.class.isAssignableFrom(raw) || Map.class.isAssignableFrom(raw)) {
      inner = arguments.isEmpty() ? Object.class : arguments.get(arguments.size() - 1);
    }
    ValueModel element = inner == null ? null : of(inner);
    TextType scalar = TextType.of(raw, json);
    RecordModel members = raw.isRecord() && !hasOwnForm(raw) ? recordOf(raw) : null;
    Map<String, Object> limits = limits(annotations, scalar, element);
    return new ValueModel(raw, scalar, members, element, !nullable, limits);
  }

  private static Class<?> rawOf(Type type) {
    if (type instanceof Class<?> plain) {
      return plain;
    }
    if (type instanceof ParameterizedType generic) {
      return rawOf(generic.getRawType());
    }
    if (type instanceof WildcardType wildcard) {
      return rawOf(wildcard.getUpperBounds()[0]);
    }
    return type instanceof GenericArrayType ? Object[].class : Object.class;
  }

  /** Returns whether Jackson writes a record as another value. */
  private static boolean hasOwnForm(Class<?> type) {
    return Stream.of(type.getDeclaredMethods())
        .flatMap(each -> Stream.of(each.getAnnotations()))
        .anyMatch(each -> each.annotationType().getSimpleName().equals("JsonValue"));
  }

  private RecordModel recordOf(Class<?> type) {
    RecordModel known = records.get(type);
    if (known == null) {
      known = new RecordModel(type);
      records.put(type, known); // before its parts, which may refer to it
      Map<String, String> names = json(type).propertyNames(type);
      for (RecordComponent each : type.getRecordComponents()) {
        String name = names.get(each.getName());
        if (name != null) { // else ignored by annotations
          known.add(name, of(each), each.getAccessor());
        }
      }
    }
    return known;
  }

  /** Returns the limits as keywords of JSON schema. */
  private static Map<String, Object> limits(
      Annotation[] annotations, @Nullable TextType scalar, @Nullable ValueModel element) {
    Map<String, Object> limits = new LinkedHashMap<>();
    String size = element == null ? "Length" : element.isMap() ? "Properties" : "Items";
    for (Annotation each : annotations) {
      String name = each.annotationType().getName();
      switch (name.startsWith(JAKARTA) ? name.substring(JAKARTA.length()) : "") {
        case "Min" -> raise(limits, "minimum", (long) member(each, "value"));
        case "Max" -> limits.put("maximum", member(each, "value"));
        case "Positive" -> limits.put("exclusiveMinimum", 0L);
        case "PositiveOrZero" -> raise(limits, "minimum", 0);
        case "NotBlank" -> limits.merge("pattern", NOT_BLANK, TypeModels::both);
        case "NotEmpty" -> raise(limits, "min" + size, 1);
        case "Pattern" ->
            limits.merge("pattern", "^(?:" + member(each, "regexp") + ")$", TypeModels::both);
        case "Size" -> {
          raise(limits, "min" + size, (int) member(each, "min"));
          limits.put("max" + size, member(each, "max"));
        }
        default -> {}
      }
    }
    limits.values().removeIf(limit -> limit.equals(Integer.MAX_VALUE));
    return limits;
  }

  /** Sets a lower bound unless another annotation sets a higher one. */
  private static void raise(Map<String, Object> limits, String keyword, long bound) {
    limits.merge(keyword, bound, (one, other) -> Math.max((long) one, (long) other));
  }

  /** Returns the conjunction of the pattern of texts that are not blank and an anchored one. */
  private static Object both(Object one, Object other) {
    Object anchored = one.equals(NOT_BLANK) ? other : one;
    return "^(?=[\\s\\S]*" + NOT_BLANK + ")" + anchored.toString().substring(1);
  }

  private static Object member(Annotation annotation, String name) {
    try {
      return annotation.annotationType().getMethod(name).invoke(annotation);
    } catch (ReflectiveOperationException unknownForm) {
      throw new IllegalStateException(annotation.annotationType().getName(), unknownForm);
    }
  }
}
