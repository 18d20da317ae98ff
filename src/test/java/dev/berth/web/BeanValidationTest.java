package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The provider of Jakarta Validation, with a small one of this test. */
class BeanValidationTest {
  private static final String FACTORY =
      "package jakarta.validation; public interface ValidatorFactory extends AutoCloseable"
          + " { Validator getValidator(); }";
  private static final String VALIDATOR =
      "package jakarta.validation; public interface Validator"
          + " { <T> java.util.Set<ConstraintViolation<T>> validate(T value, Class<?>... groups); }";
  private static final String VIOLATION =
      "package jakarta.validation; public record ConstraintViolation<T>(Object getPropertyPath,"
          + " String getMessage) {}";
  private static final String VALIDATION =
      """
      package jakarta.validation;
      public final class Validation {
        public static class NoProviderFoundException extends RuntimeException {}
        public static ValidatorFactory buildDefaultValidatorFactory() {
          %s
        }
        record Factory() implements ValidatorFactory {
          public Validator getValidator() {
            return new Validator() {
              public <T> java.util.Set<ConstraintViolation<T>> validate(T value, Class<?>... groups) {
                return java.util.Set.of(new ConstraintViolation<T>("items[0].count", value + " is bad"));
              }
            };
          }
          public void close() {}
        }
      }
      """;

  @TempDir Path classes;

  private ClassLoader loader(String body) throws IOException {
    String name = "jakarta.validation.";
    return CompiledClasses.in(
        classes,
        Map.of(
            name + "ValidatorFactory", FACTORY,
            name + "Validator", VALIDATOR,
            name + "ConstraintViolation", VIOLATION,
            name + "Validation", VALIDATION.formatted(body)));
  }

  @Test
  void violationsHaveTheirPathAndMessage() throws IOException {
    List<String> found = new ArrayList<>();
    BeanValidation.find(loader("return new Factory();"))
        .validate("it", (path, message) -> found.add(path + ": " + message));
    assertThat(found).containsExactly("items[0].count: it is bad");
  }

  @Test
  void replicasOfAnApplicationShareTheirProvider() throws IOException {
    ClassLoader application = loader("return new Factory();");
    assertThat(BeanValidation.find(application)).isSameAs(BeanValidation.find(application));
  }

  @Test
  void annotationsWithoutAProviderAreNoProvider() throws IOException {
    assertThat(BeanValidation.find(loader("throw new NoProviderFoundException();"))).isNull();
    assertThat(BeanValidation.find(ClassLoader.getPlatformClassLoader())).isNull();
  }

  @Test
  void aProviderThatDoesNotStartIsReported() {
    assertThatIllegalStateException()
        .isThrownBy(
            () -> BeanValidation.find(loader("throw new IllegalStateException(\"no EL\");")))
        .withMessage("Jakarta Validation: its provider does not start")
        .withStackTraceContaining("no EL");
  }
}
