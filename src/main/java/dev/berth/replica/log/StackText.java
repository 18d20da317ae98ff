package dev.berth.replica.log;

import java.util.Arrays;
import java.util.List;

/** Formats a thread's stack as one log line of readable length. */
public final class StackText {
  private static final int TOP_FRAMES = 12;

  /** Callers of user code: frames from these on describe Berth, not the user code. */
  private static final List<String> CALLERS_OF_USER_CODE =
      List.of(
          "dev.berth.replica.BatchRunner",
          "dev.berth.replica.BlockingCall",
          "dev.berth.replica.HandlerInvoker",
          "dev.berth.replica.ReplicaHooks",
          "dev.berth.replica.ReplicaStart");

  /** Packages whose frames alone mean that a thread waits for events or for the processor. */
  private static final List<String> NO_HANDLERS =
      List.of("io.netty.", "io.vertx.", "java.", "jdk.", "sun.");

  private StackText() {}

  /** Returns whether an event loop's thread runs no handler, neither of users nor of Berth. */
  public static boolean isIdle(StackTraceElement[] frames) {
    return Arrays.stream(frames)
        .allMatch(frame -> NO_HANDLERS.stream().anyMatch(frame.getClassName()::startsWith));
  }

  /**
   * Formats the innermost frames down to the handler that the instance called. In a deeper stack
   * the middle is omitted: the top shows the blocking call, the end the handler.
   */
  public static String of(StackTraceElement[] frames) {
    return of(frames, TOP_FRAMES);
  }

  /** Formats the innermost frame and the handler's frame. */
  public static String brief(StackTraceElement[] frames) {
    return of(frames, 1);
  }

  private static String of(StackTraceElement[] frames, int most) {
    if (frames.length == 0) {
      return "no stack";
    }
    int end = 0;
    while (end < frames.length && !callsUserCode(frames[end])) {
      end++;
    }
    boolean userCode = end > 0 && end < frames.length;
    while (userCode && end > 1 && frames[end - 1].getFileName() == null) {
      end--; // frames that the JVM generates for a lambda have no line
    }
    int shown = Math.min(Math.max(1, end), most);
    StringBuilder line = new StringBuilder("at ").append(text(frames[0]));
    for (int i = 1; i < shown; i++) {
      line.append(" < ").append(text(frames[i]));
    }
    if (userCode && end > most) {
      line.append(end > most + 1 ? " < ... < " : " < ").append(text(frames[end - 1]));
    }
    return line.toString();
  }

  private static boolean callsUserCode(StackTraceElement frame) {
    return CALLERS_OF_USER_CODE.stream().anyMatch(frame.getClassName()::startsWith);
  }

  /** Formats a frame without its module and loader. */
  private static String text(StackTraceElement frame) {
    String method = frame.getClassName() + "." + frame.getMethodName();
    return frame.getFileName() == null
        ? method
        : method + "(" + frame.getFileName() + ":" + frame.getLineNumber() + ")";
  }
}
