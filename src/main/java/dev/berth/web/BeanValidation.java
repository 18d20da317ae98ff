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
final class BeanValidation {
  private static final String PACKAGE = "jakarta.validation.";
  private static final Class<?>[] NO_GROUPS = {};

  /** Providers by the class of each application that starts them, since a start is slow. */
  private static final ClassValue<@Nullable BeanValidation> STARTED =
      new ClassValue<>() {
        @Override
        protected @Nullable BeanValidation computeValue(Class<?> validation) {
          return start(validation);
        }
      };

  private final Object validator;
  private final Method validate;
  private final Method pathOf;
  private final Method messageOf;

  private BeanValidation(Object factory, @Nullable ClassLoader loader)
      throws ReflectiveOperationException {
    Class<?> factories = Class.forName(PACKAGE + "ValidatorFactory", true, loader);
    validator = factories.getMethod("getValidator").invoke(factory);
    Class<?> validators = Class.forName(PACKAGE + "Validator", true, loader);
    validate = validators.getMethod("validate", Object.class, Class[].class);
    Class<?> violations = Class.forName(PACKAGE + "ConstraintViolation", true, loader);
    pathOf = violations.getMethod("getPropertyPath");
    messageOf = violations.getMethod("getMessage");
  }

  /**
   * Returns the provider that a class loader sees, started once; null without one.
   *
   * @throws IllegalStateException when a provider does not start
   */
  static @Nullable BeanValidation find(@Nullable ClassLoader loader) {
    try {
      return STARTED.get(Class.forName(PACKAGE + "Validation", true, loader));
    } catch (ClassNotFoundException absent) {
      return null;
    }
  }

  private static @Nullable BeanValidation start(Class<?> validation) {
    try {
      Object factory = validation.getMethod("buildDefaultValidatorFactory").invoke(null);
      return new BeanValidation(factory, validation.getClassLoader());
    } catch (ReflectiveOperationException failed) {
      Throwable cause = failed instanceof InvocationTargetException ? failed.getCause() : failed;
      if (cause.getClass().getSimpleName().equals("NoProviderFoundException")) {
        return null; // the annotations only
      }
      throw new IllegalStateException("Jakarta Validation: its provider does not start", cause);
    }
  }

  /** Passes the path and the message of each violation of a value; null has none. */
  void validate(@Nullable Object value, BiConsumer<String, String> violations) {
    if (value == null) {
      return;
    }
    try {
      for (Object each : (Set<?>) validate.invoke(validator, value, NO_GROUPS)) {
        violations.accept(pathOf.invoke(each).toString(), (String) messageOf.invoke(each));
      }
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException("Jakarta Validation: failed", failed);
    }
  }
}
