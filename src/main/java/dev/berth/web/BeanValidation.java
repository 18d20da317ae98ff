package dev.berth.web;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The Jakarta Validation provider of the application's jars. Called by reflection, because Berth
 * does not depend on it. Thread-safe.
 */
final class BeanValidation implements AutoCloseable {
  private static final String PACKAGE = "jakarta.validation.";
  private static final Class<?>[] NO_GROUPS = {};

  private final AutoCloseable factory;
  private final Object validator;
  private final Method validate;
  private final Method pathOf;
  private final Method messageOf;

  private BeanValidation(ClassLoader loader, AutoCloseable factory)
      throws ReflectiveOperationException {
    this.factory = factory;
    Class<?> type = Class.forName(PACKAGE + "ValidatorFactory", true, loader);
    validator = type.getMethod("getValidator").invoke(factory);
    validate =
        Class.forName(PACKAGE + "Validator", true, loader)
            .getMethod("validate", Object.class, Class[].class);
    Class<?> violation = Class.forName(PACKAGE + "ConstraintViolation", true, loader);
    pathOf = violation.getMethod("getPropertyPath");
    messageOf = violation.getMethod("getMessage");
  }

  /**
   * Returns the provider that a class loader sees; null without one.
   *
   * @throws IllegalStateException when a provider does not start
   */
  static @Nullable BeanValidation find(@Nullable ClassLoader loader) {
    try {
      Class<?> validation = Class.forName(PACKAGE + "Validation", true, loader);
      Object factory = validation.getMethod("buildDefaultValidatorFactory").invoke(null);
      return new BeanValidation(loader, (AutoCloseable) factory);
    } catch (ClassNotFoundException absent) {
      return null;
    } catch (InvocationTargetException failed) {
      Throwable cause = failed.getCause();
      if (cause.getClass().getSimpleName().equals("NoProviderFoundException")) {
        return null; // the annotations only
      }
      throw new IllegalStateException("Jakarta Validation: its provider does not start", cause);
    } catch (ReflectiveOperationException strange) {
      throw new IllegalStateException("Jakarta Validation: of an unknown form", strange);
    }
  }

  /** Passes the path and the message of each violation of a value. */
  void validate(Object value, BiConsumer<String, String> violations) {
    try {
      for (Object each : (Set<?>) validate.invoke(validator, value, NO_GROUPS)) {
        violations.accept(pathOf.invoke(each).toString(), (String) messageOf.invoke(each));
      }
    } catch (InvocationTargetException failed) {
      throw new IllegalStateException("Jakarta Validation: failed", failed.getCause());
    } catch (IllegalAccessException impossible) { // public interfaces
      throw new IllegalStateException(impossible);
    }
  }

  @Override
  public void close() {
    try {
      factory.close();
    } catch (Exception failure) {
      throw new IllegalStateException("Jakarta Validation: its provider does not stop", failure);
    }
  }
}
