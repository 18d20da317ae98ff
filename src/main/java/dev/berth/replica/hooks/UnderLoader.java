package dev.berth.replica.hooks;

import org.jspecify.annotations.Nullable;

/** User code expects its own loader as the thread's, as libraries look services up there. */
public final class UnderLoader {

  /** What is called. */
  @FunctionalInterface
  public interface Code<T extends @Nullable Object, E extends Exception> {
    T call() throws E;
  }

  private UnderLoader() {}

  /**
   * Calls it here and now.
   *
   * @param loader of its class; null for the one that the thread has
   */
  public static <T extends @Nullable Object, E extends Exception> T call(
      @Nullable ClassLoader loader, Code<T, E> code) throws E {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader == null ? before : loader);
    try {
      return code.call();
    } finally {
      thread.setContextClassLoader(before);
    }
  }
}
