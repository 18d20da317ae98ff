package dev.berth.replica.hooks;

import org.jspecify.annotations.Nullable;

/**
 * Calls user code with its own class loader as the thread's context loader, which libraries use to
 * look up services.
 */
public final class ContextClassLoaderScope {

  /** User code that returns a value. */
  @FunctionalInterface
  public interface ScopedCode<T extends @Nullable Object, E extends Exception> {
    T call() throws E;
  }

  private ContextClassLoaderScope() {}

  /**
   * Calls user code on this thread.
   *
   * @param loader class loader of the code; null for the present context loader of the thread
   */
  public static <T extends @Nullable Object, E extends Exception> T call(
      @Nullable ClassLoader loader, ScopedCode<T, E> code) throws E {
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
