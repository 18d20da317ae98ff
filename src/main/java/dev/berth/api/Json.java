package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of values: by the Jackson that the code they belong to came with, so that its version,
 * its modules and its annotations count. Berth has none, so this one is called by reflection. One
 * mapper for each application; any thread.
 */
final class Json {
  static final String DEPENDENCY = "com.fasterxml.jackson.core:jackson-databind";
  private static final String DATABIND = "com.fasterxml.jackson.databind.";
  private static final String CORE = "com.fasterxml.jackson.core.";
  private static final int POOLED_BUFFERS = 16; // of a mapper; more at once are made and let go
  private static final int MESSAGE_CHARS = 300;

  // Kept with the classes themselves, and so gone with their application.
  private static final ClassValue<Json> BY_MAPPER =
      new ClassValue<>() {
        @Override
        protected Json computeValue(Class<?> mapper) {
          return new Json(mapper);
        }
      };
  private static final ClassValue<@Nullable Json> BY_BODY =
      new ClassValue<>() {
        @Override
        protected @Nullable Json computeValue(Class<?> body) {
          return visibleTo(body.getClassLoader());
        }
      };

  /** Is written and read before anything else, to load Jackson's classes off any event loop. */
  private record Sample(String text, int number) {}

  private final Object mapper;
  private final Method write;
  private final Method read;
  private final Method readerFor;

  private Json(Class<?> type) {
    try {
      mapper = type.getConstructor().newInstance();
      ClassLoader loader = type.getClassLoader();
      Object modules = type.getMethod("findModules", ClassLoader.class).invoke(null, loader);
      type.getMethod("registerModules", Iterable.class).invoke(mapper, modules);
      // What a body does not say is not 0, and what stands behind it is not nothing.
      Class<?> feature = Class.forName(DATABIND + "DeserializationFeature", true, loader);
      Method set = type.getMethod("configure", feature, boolean.class);
      for (String name : List.of("FAIL_ON_NULL_FOR_PRIMITIVES", "FAIL_ON_TRAILING_TOKENS")) {
        set.invoke(mapper, feature.getField(name).get(null), true);
      }
      keepNoBuffersByThread(type.getMethod("getFactory").invoke(mapper));
      write = type.getMethod("writeValueAsBytes", Object.class);
      read = type.getMethod("readValue", byte[].class, Class.class);
      readerFor = type.getMethod("readerFor", Class.class);
      read.invoke(mapper, write.invoke(mapper, new Sample("", 0)), Sample.class);
    } catch (ReflectiveOperationException strange) {
      throw new IllegalStateException(
          DEPENDENCY + ": of an unknown form (expected: 2.12 or later, below 3)", strange);
    }
  }

  /**
   * Buffers that Jackson keeps for each thread would keep the application's classes there for as
   * long as the heap has room. Since 2.16 a pool can have them; before, there are new ones for each
   * value.
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
   * That of the application which a class belongs to.
   *
   * @param body may be one of the JDK: then another one says whose it is, or else who calls
   * @throws IllegalStateException when the application brought no Jackson
   */
  static Json of(Class<?> body, Class<?> other) {
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

  /** That of the code which asks, for bodies that are all of the JDK. */
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
                    .orElse(BY_BODY.get(Json.class))); // a test, on one class path with Berth
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

  /** Looks at a class that will be read, off any event loop: the first look takes long. */
  void prepare(Class<?> type) {
    try {
      readerFor.invoke(mapper, type);
    } catch (ReflectiveOperationException unreadable) {
      throw new IllegalArgumentException(
          type.getName() + ": " + Malformed.messageOf(unreadable), unreadable);
    }
  }

  /**
   * @throws IllegalArgumentException when it has no JSON
   */
  Buffer write(Object value) {
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
   * @throws Malformed when it is not one of these
   */
  <T> T read(Buffer json, Class<T> type) throws Malformed {
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
    @SuppressWarnings("unchecked") // a primitive's class gives a box, which cast() refuses
    T typed = (T) value;
    return typed;
  }

  /** What was thrown; thrown on when it is no fault of the JSON, as a heap that is full. */
  private static Throwable causeOf(InvocationTargetException failed) {
    for (Throwable why = failed.getCause(); why != null; why = why.getCause()) {
      if (why instanceof Error error && !(error instanceof StackOverflowError)) {
        throw error;
      }
    }
    return failed.getCause();
  }

  /** JSON that is none, or of something else. Its message is for whoever sent it. */
  static final class Malformed extends Exception {
    private static final long serialVersionUID = 1L;
    private final String field;

    Malformed(Throwable why) {
      super(messageOf(why), why, false, false);
      field = fieldOf(why);
    }

    /** {@code items[2].sku}; {@code body} for all of it. */
    String field() {
      return field;
    }

    /** A 400 that says so. */
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
      return field.isEmpty() ? "body" : cut(field.toString());
    }

    /** What a constructor said, or else Jackson, without the names of packages and settings. */
    static String messageOf(Throwable why) {
      Throwable cause = why.getCause();
      boolean ours = cause != null && ask(cause, "getOriginalMessage") == null;
      Object said = ours ? cause.getMessage() : ask(why, "getOriginalMessage");
      String all = why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
      String text = said == null ? all : said.toString();
      // Possessive: other loops of groups take stack for each round, and a key may have thousands.
      text = text.replaceAll("([`<,])(?:\\w++[.$])++", "$1").replaceAll(" \\((?:set|class) .*", "");
      return cut(text);
    }

    private static String cut(String text) {
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
