package dev.berth.cli.log;

import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Properties of the terminal, if a user reads the output of this process. */
public final class Terminal {
  private Terminal() {}

  /**
   * Returns whether a user reads the output and can confirm a question. Since Java 22 a console may
   * lack a terminal, which {@code Console.isTerminal} reports.
   */
  public static boolean isThere() {
    Console console = System.console();
    if (console == null) {
      return false;
    }
    try {
      return Boolean.TRUE.equals(Console.class.getMethod("isTerminal").invoke(console));
    } catch (ReflectiveOperationException beforeJava22) {
      return true;
    }
  }

  /**
   * Returns whether output may have colours; see no-color.org.
   *
   * @param not value of {@code NO_COLOR}; null when unset
   */
  public static boolean wantsColours(@Nullable String not) {
    return not == null || not.isEmpty();
  }

  /** Returns the best form of the log on this process's standard error. */
  static TextLines.LogLineForm formOfLog() {
    if (!isErrorTerminal()) {
      return TextLines.LogLineForm.FILE;
    }
    return wantsColours(System.getenv("NO_COLOR"))
        ? TextLines.LogLineForm.COLOURS
        : TextLines.LogLineForm.TERMINAL;
  }

  /**
   * Returns whether standard error is a terminal. Linux shows its target; elsewhere the console
   * decides.
   */
  private static boolean isErrorTerminal() {
    try {
      String to = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return to.startsWith("/dev/pts/") || to.startsWith("/dev/tty") || to.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException notLinux) {
      return isThere();
    }
  }
}
