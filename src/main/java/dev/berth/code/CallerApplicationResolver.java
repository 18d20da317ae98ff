package dev.berth.code;

import java.lang.StackWalker.Option;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finder of the application whose code is calling, for threads that an application created itself.
 */
public final class CallerApplicationResolver {
  private static final StackWalker WALKER = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE);

  private CallerApplicationResolver() {}

  /**
   * Returns the application whose jars contain the innermost caller, or else the application that
   * created the thread; null for code of no application.
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

  /**
   * Returns the application whose code threw the exception, or called the code that threw; null for
   * code of no application.
   */
  public static @Nullable String thatThrew(Throwable thrown) {
    return Stream.of(thrown.getStackTrace())
        .map(StackTraceElement::getClassLoaderName)
        .filter(loader -> loader != null && loader.startsWith(ApplicationClassLoader.NAMED))
        .map(loader -> loader.substring(ApplicationClassLoader.NAMED.length()))
        .findFirst()
        .orElse(null);
  }

  private static @Nullable String of(@Nullable ClassLoader loader) {
    return loader instanceof ApplicationClassLoader own ? own.application : null;
  }
}
