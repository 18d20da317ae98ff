package dev.berth.code;

import java.lang.StackWalker.Option;
import java.lang.StackWalker.StackFrame;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Whose code calls, where nothing else says it: on a thread that an application made itself. */
public final class CallingApplication {
  private static final StackWalker WALKER = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE);

  private CallingApplication() {}

  /** The application whose jars have the innermost of the callers; null when none has. */
  public static @Nullable String find() {
    return WALKER.walk(
        frames ->
            frames.map(CallingApplication::of).filter(Objects::nonNull).findFirst().orElse(null));
  }

  private static @Nullable String of(StackFrame frame) {
    return frame.getDeclaringClass().getClassLoader() instanceof ApplicationClassLoader loader
        ? loader.application()
        : null;
  }
}
