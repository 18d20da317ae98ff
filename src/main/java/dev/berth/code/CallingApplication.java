package dev.berth.code;

import java.lang.StackWalker.Option;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Whose code calls, where nothing else says it: on a thread that an application made itself. */
public final class CallingApplication {
  private static final StackWalker WALKER = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE);

  private CallingApplication() {}

  /**
   * The application whose jars have the innermost of the callers, or else the one that made the
   * thread. Null when it is none's.
   */
  public static @Nullable String find() {
    String found =
        WALKER.walk(
            frames ->
                frames
                    .map(frame -> of(frame.getDeclaringClass().getClassLoader()))
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElse(null));
    return found == null ? of(Thread.currentThread().getContextClassLoader()) : found;
  }

  /** The application whose code threw it, or called what did; null when it is none's. */
  public static @Nullable String thatThrew(Throwable thrown) {
    return Stream.of(thrown.getStackTrace())
        .map(StackTraceElement::getClassLoaderName)
        .filter(loader -> loader != null && loader.startsWith(ApplicationClassLoader.NAMED))
        .map(loader -> loader.substring(ApplicationClassLoader.NAMED.length()))
        .findFirst()
        .orElse(null);
  }

  private static @Nullable String of(@Nullable ClassLoader loader) {
    return loader instanceof ApplicationClassLoader own ? own.application() : null;
  }
}
