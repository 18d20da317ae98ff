package dev.berth.cli.log;

import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Whether someone reads what this process says, and how they want it. */
public final class Terminal {
  private Terminal() {}

  /**
   * Whether someone sits there who reads and can be asked. Since Java 22 there is a console without
   * a terminal too, which says so.
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
   * See no-color.org.
   *
   * @param not what the variable says; null when it is not set
   */
  public static boolean wantsColours(@Nullable String not) {
    return not == null || not.isEmpty();
  }

  /** How the log of this process is best written to its standard error. */
  static TextLines.Form formOfLog() {
    if (!isErrorTerminal()) {
      return TextLines.Form.FILE;
    }
    return wantsColours(System.getenv("NO_COLOR"))
        ? TextLines.Form.COLOURS
        : TextLines.Form.TERMINAL;
  }

  /** Linux tells where standard error leads; elsewhere the console stands for it. */
  private static boolean isErrorTerminal() {
    try {
      String to = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return to.startsWith("/dev/pts/") || to.startsWith("/dev/tty") || to.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException notLinux) {
      return isThere();
    }
  }
}
