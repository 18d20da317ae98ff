package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * JSON codec that uses the Jackson library of the application, so that the application's version,
 * modules and annotations apply. Called by reflection, because Berth does not depend on Jackson
 * databind. One mapper per application. Thread-safe.
 */
public final class Json {
  static final String DEPENDENCY = "com.fasterxml.jackson.core:jackson-databind";
  private static final String DATABIND = "com.fasterxml.jackson.databind.";
  private static final String CORE = "com.fasterxml.jackson.core.";
  private static final int POOLED_BUFFERS = 16; // per mapper; Jackson does not pool more
  private static final int MESSAGE_CHARS = 300;

  // ClassValue stores the codec with the class, so both become unreachable with the application.
  private static final ClassValue<Json> BY_MAPPER =
      new ClassValue<>() {
        @Override
        protected Json computeValue(Class<?> mapper) {
          return new Json(mapperOf(mapper));
        }
      };
  private static final ClassValue<@Nullable Json> BY_BODY =
      new ClassValue<>() {
        @Override
        protected @Nullable Json computeValue(Class<?> body) {
          return visibleTo(body.getClassLoader());
        }
      };

  /** A value written and read first, to load Jackson's classes outside the event loops. */
  private record Sample(String text, int number) {}

  private final Object mapper;
  private final Method write;
  private final Method read;
  private final Method readerFor;
  private @Nullable Json isoTimes; // guarded by this

  private Json(Object mapper) {
    this.mapper = mapper;
    Class<?> type = mapper.getClass();
    try {
      write = type.getMethod("writeValueAsBytes", Object.class);
      read = type.getMethod("readValue", byte[].class, Class.class);
      readerFor = type.getMethod("readerFor", Class.class);
      read.invoke(mapper, write.invoke(mapper, new Sample("", 0)), Sample.class);
    } catch (ReflectiveOperationException strange) {
      throw unknownForm(strange);
    }
  }

  private static Object mapperOf(Class<?> type) {
    try {
      Object mapper = type.getConstructor().newInstance();
      ClassLoader loader = type.getClassLoader();
      Object modules = type.getMethod("findModules", ClassLoader.class).invoke(null, loader);
      type.getMethod("registerModules", Iterable.class).invoke(mapper, modules);
      // A missing primitive must not become 0, and text after the value must not be ignored.
      set(mapper, "DeserializationFeature", "FAIL_ON_NULL_FOR_PRIMITIVES", true);
      set(mapper, "DeserializationFeature", "FAIL_ON_TRAILING_TOKENS", true);
      keepNoBuffersByThread(type.getMethod("getFactory").invoke(mapper));
      return mapper;
    } catch (ReflectiveOperationException strange) {
      throw unknownForm(strange);
    }
  }

  private static void set(Object mapper, String features, String name, boolean on)
      throws ReflectiveOperationException {
    Class<?> type = mapper.getClass();
    Class<?> feature = Class.forName(DATABIND + features, true, type.getClassLoader());
    Object constant = feature.getField(name).get(null);
    type.getMethod("configure", feature, boolean.class).invoke(mapper, constant, on);
  }

  private static IllegalStateException unknownForm(ReflectiveOperationException strange) {
    return new IllegalStateException(
        DEPENDENCY + ": of an unknown form (expected: 2.12 or later, below 3)", strange);
  }

  /**
   * Returns the codec that also writes dates, times and durations of {@code java.time} as texts of
   * ISO 8601. It reads both forms.
   */
  public synchronized Json withIsoTimes() {
    if (isoTimes == null) {
      try {
        Object copy = mapper.getClass().getMethod("copy").invoke(mapper);
        set(copy, "SerializationFeature", "WRITE_DATES_AS_TIMESTAMPS", false);
        set(copy, "SerializationFeature", "WRITE_DURATIONS_AS_TIMESTAMPS", false);
        isoTimes = new Json(copy);
      } catch (ReflectiveOperationException strange) {
        throw unknownForm(strange);
      }
    }
    return isoTimes;
  }

  /** Returns the names of a class's properties in JSON, by their names in Java. */
  public Map<String, String> propertyNames(Class<?> type) {
    Class<?> own = mapper.getClass();
    Map<String, String> names = new HashMap<>();
    try {
      Object config = own.getMethod("getSerializationConfig").invoke(mapper);
      Object javaType = own.getMethod("constructType", Type.class).invoke(mapper, type);
      Class<?> javaTypes = Class.forName(DATABIND + "JavaType", true, own.getClassLoader());
      Object bean = config.getClass().getMethod("introspect", javaTypes).invoke(config, javaType);
      for (Object each : (List<?>) bean.getClass().getMethod("findProperties").invoke(bean)) {
        names.put(
            (String) each.getClass().getMethod("getInternalName").invoke(each),
            (String) each.getClass().getMethod("getName").invoke(each));
      }
    } catch (ReflectiveOperationException strange) {
      throw new IllegalArgumentException(
          type.getName() + ": " + Malformed.messageOf(strange), strange);
    }
    return names;
  }

  /**
   * Disables Jackson's buffers per thread, which would retain the application's classes on threads
   * that outlive the application. Jackson 2.16 and later use a bounded pool instead; older versions
   * allocate buffers for each value.
   */
  private static void keepNoBuffersByThread(Object factory) throws ReflectiveOperationException {
    ClassLoader loader = factory.getClass().getClassLoader();
    try {
      Class<?> pools = Class.forName(CORE + "util.JsonRecyclerPools", true, loader);
      Class<?> pool = Class.forName(CORE + "util.RecyclerPool", true, loader);
      Object bounded = pools.getMethod("newBoundedPool", int.class).invoke(null, POOLED_BUFFERS);
      factory.getClass().getMethod("setRecyclerPool", pool).invoke(factory, bounded);
    } catch (ClassNotFoundException | NoSuchMethodException older) { // Berth's own core has pools
      Class<?> features = Class.forName(CORE + "JsonFactory$Feature", true, loader);
      Object byThread = features.getField("USE_THREAD_LOCAL_FOR_BUFFER_RECYCLING").get(null);
      factory.getClass().getMethod("disable", features).invoke(factory, byThread);
    }
  }

  /**
   * Returns the codec of the application that a class belongs to.
   *
   * @param body may be a JDK class; then {@code other} determines the application, or else the
   *     calling class on the stack
   * @throws IllegalStateException when the application has no Jackson databind
   */
  public static Json of(Class<?> body, Class<?> other) {
    Json found = BY_BODY.get(body);
    if (found == null) {
      found = BY_BODY.get(other);
    }
    if (found == null && body.getClassLoader() == null) {
      found = ofCaller();
    }
    if (found == null) {
      String missing = "%s: not among the application's jars (expected there, for bodies of %s)";
      throw new IllegalStateException(missing.formatted(DEPENDENCY, body.getName()));
    }
    return found;
  }

  /** Returns the codec of the application that a class belongs to; empty without one. */
  public static Optional<Json> find(Class<?> owner) {
    return Optional.ofNullable(BY_BODY.get(owner));
  }

  /** Returns the codec of the calling code, for bodies that are JDK classes only. */
  private static @Nullable Json ofCaller() {
    return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
        .walk(
            frames ->
                frames
                    .map(StackWalker.StackFrame::getDeclaringClass)
                    .filter(caller -> caller.getClassLoader() != Json.class.getClassLoader())
                    .map(BY_BODY::get)
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElse(BY_BODY.get(Json.class))); // a test with Berth on its class path
  }

  private static @Nullable Json visibleTo(@Nullable ClassLoader loader) {
    if (loader == null) {
      return null;
    }
    try {
      return BY_MAPPER.get(Class.forName(DATABIND + "ObjectMapper", true, loader));
    } catch (ClassNotFoundException absent) {
      return null;
    } catch (LinkageError incomplete) {
      throw new IllegalStateException(
          DEPENDENCY + ": among the application's jars without what it needs: " + incomplete,
          incomplete);
    }
  }

  /**
   * Introspects a class that will be read, outside the event loops: the first introspection is
   * slow.
   */
  void prepare(Class<?> type) {
    try {
      readerFor.invoke(mapper, type);
    } catch (ReflectiveOperationException unreadable) {
      throw new IllegalArgumentException(
          type.getName() + ": " + Malformed.messageOf(unreadable), unreadable);
    }
  }

  /**
   * Serializes a value.
   *
   * @throws IllegalArgumentException when the value has no JSON form
   */
  public Buffer write(Object value) {
    try {
      return Buffer.buffer((byte[]) write.invoke(mapper, value));
    } catch (InvocationTargetException failed) {
      Throwable why = causeOf(failed);
      throw new IllegalArgumentException(
          value.getClass().getName() + ": " + Malformed.messageOf(why), why);
    } catch (IllegalAccessException impossible) { // public methods of a public class
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * Parses a value of a type.
   *
   * @throws Malformed when the text is not JSON of this type
   */
  public <T> T read(Buffer json, Class<T> type) throws Malformed {
    Object value;
    try {
      value = read.invoke(mapper, json.getBytes(), type);
    } catch (InvocationTargetException failed) {
      throw new Malformed(causeOf(failed));
    } catch (IllegalAccessException impossible) {
      throw new IllegalStateException(impossible);
    }
    if (value == null) {
      throw new Malformed(new IllegalArgumentException("null, and not a " + type.getSimpleName()));
    }
    @SuppressWarnings("unchecked") // a primitive class yields a box, which cast() rejects
    T typed = (T) value;
    return typed;
  }

  /** Returns the cause. Rethrows an error unrelated to the JSON, such as an exhausted heap. */
  private static Throwable causeOf(InvocationTargetException failed) {
    for (Throwable why = failed.getCause(); why != null; why = why.getCause()) {
      if (why instanceof Error error && !(error instanceof StackOverflowError)) {
        throw error;
      }
    }
    return failed.getCause();
  }

  /**
   * Failure to parse a body: no valid JSON, or JSON of another type. Its message is safe to return
   * to the sender.
   */
  public static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;
    final String field;

    Malformed(Throwable why) {
      super(messageOf(why), why, false, false);
      field = fieldOf(why);
    }

    /** Returns the path of the field, such as items[2].sku; body for the whole body. */
    public String field() {
      return field;
    }

    /** Returns a response with status 400 that names the field. */
    Response refusal(Json json) {
      String message = field + ": " + getMessage();
      return Response.of(
          400,
          "application/json",
          json.write(Map.of("code", "invalid_body", "field", field, "message", message)));
    }

    private static String fieldOf(Throwable why) {
      StringBuilder field = new StringBuilder();
      for (Object step : ask(why, "getPath") instanceof List<?> path ? path : new ArrayList<>()) {
        Object name = ask(step, "getFieldName");
        if (name == null) {
          field.append('[').append(ask(step, "getIndex")).append(']');
        } else {
          field.append(field.isEmpty() ? "" : ".").append(name);
        }
      }
      return field.isEmpty() ? "body" : truncate(field.toString());
    }

    /**
     * Returns the message of a constructor's exception, or else of Jackson, without package names
     * and Jackson settings.
     */
    static String messageOf(Throwable why) {
      Throwable cause = why.getCause();
      boolean ours = cause != null && ask(cause, "getOriginalMessage") == null;
      Object said = ours ? cause.getMessage() : ask(why, "getOriginalMessage");
      String all = why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
      String text = said == null ? all : said.toString();
      // Possessive: other quantified groups use stack for each repetition, and a key may have
      // thousands.
      text = text.replaceAll("([`<,])(?:\\w++[.$])++", "$1").replaceAll(" \\((?:set|class) .*", "");
      return truncate(text);
    }

    private static String truncate(String text) {
      return text.length() <= MESSAGE_CHARS ? text : text.substring(0, MESSAGE_CHARS) + "…";
    }

    private static @Nullable Object ask(Object of, String method) {
      try {
        return of.getClass().getMethod(method).invoke(of);
      } catch (ReflectiveOperationException hasNone) {
        return null;
      }
    }
  }
}
