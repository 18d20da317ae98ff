package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Json;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits by annotations of Jakarta Validation, without its provider, and bounds of the search. */
class ValueLimitsTest {
  private static final String LIMITED =
      """
      import jakarta.validation.constraints.*;
      import java.util.List;
      public record Limited(
          @Min(1) @Max(9) int count,
          @Size(min = 2, max = 3) String name,
          @Pattern(regexp = "[a-z]+") String code,
          @NotBlank String note,
          @Positive double weight,
          @Size(max = 1) List<String> tags) {}
      """;

  private static final String BOUNDED =
      """
      import jakarta.validation.constraints.*;
      public record Bounded(
          @NotEmpty @Size(max = 5) String name,
          @Min(3) @PositiveOrZero int count,
          @NotBlank @Pattern(regexp = "[a ]*") String text) {}
      """;

  private static final Predicate<String> TEXT = each -> each.contains("type `Integer`");

  record Numbers(List<Integer> all) {}

  @TempDir Path classes;
  private Class<?> limited;
  private Class<?> bounded;
  private ValueModel model;

  @BeforeEach
  void compile() throws Exception {
    Map<String, String> sources = new LinkedHashMap<>();
    sources.put("Limited", LIMITED);
    sources.put("Bounded", BOUNDED);
    annotation(sources, "Min", "long value();");
    annotation(sources, "Max", "long value();");
    annotation(sources, "Size", "int min() default 0; int max() default Integer.MAX_VALUE;");
    annotation(sources, "Pattern", "String regexp();");
    annotation(sources, "NotBlank", "");
    annotation(sources, "NotEmpty", "");
    annotation(sources, "Positive", "");
    annotation(sources, "PositiveOrZero", "");
    ClassLoader loader = CompiledClasses.in(classes, sources);
    limited = loader.loadClass("Limited");
    bounded = loader.loadClass("Bounded");
    model = new TypeModels(limited).of(limited);
  }

  private static void annotation(Map<String, String> sources, String name, String members) {
    String head =
        "package jakarta.validation.constraints; import java.lang.annotation.*;"
            + " @Target({ElementType.METHOD, ElementType.FIELD, ElementType.PARAMETER})"
            + " @Retention(RetentionPolicy.RUNTIME) public @interface ";
    sources.put("jakarta.validation.constraints." + name, head + name + " {" + members + "}");
  }

  private List<String> problems(Class<?> type, ValueModel as, String json) {
    ProblemList problems = new ProblemList();
    new JsonBodyReader(type, as, Json.of(type, type)).read(Buffer.buffer(json), true, problems);
    return problems.isEmpty()
        ? List.of()
        : new JsonObject(problems.toResponse().bytes(1 << 20).result())
            .getJsonArray("problems").stream()
                .map(each -> (JsonObject) each)
                .map(each -> each.getString("field") + " " + each.getString("message"))
                .toList();
  }

  private List<String> problems(String json) {
    return problems(limited, model, json);
  }

  @Test
  void limitsArePartOfTheSchema() {
    Map<String, JsonObject> parts = new LinkedHashMap<>();
    model
        .members()
        .parts
        .forEach(
            each -> parts.put(each.name(), new JsonObject(each.model().schema(true, Map.of()))));
    assertThat(parts.get("count").getLong("minimum")).isEqualTo(1);
    assertThat(parts.get("count").getLong("maximum")).isEqualTo(9);
    assertThat(parts.get("name").encode()).contains("\"minLength\":2,\"maxLength\":3");
    assertThat(parts.get("code").getString("pattern")).isEqualTo("^(?:[a-z]+)$");
    assertThat(parts.get("weight").getLong("exclusiveMinimum")).isZero();
    assertThat(parts.get("tags").encode()).contains("\"minItems\":0,\"maxItems\":1");
  }

  @Test
  void valuesBeyondLimitsAreProblems() {
    String valid =
        "{\"count\":9,\"name\":\"ab\",\"code\":\"x\",\"note\":\" y\",\"weight\":0.1,\"tags\":[\"a\"]}";
    assertThat(problems(valid)).isEmpty();
    String invalid =
        "{\"count\":10,\"name\":\"abcd\",\"code\":\"X\",\"note\":\" \",\"weight\":0,\"tags\":[\"a\",\"b\"]}";
    List<String> all =
        List.of(
            "count invalid (expected: maximum 9)",
            "name invalid (expected: maxLength 3)",
            "code invalid (expected: pattern ^(?:[a-z]+)$)",
            "note invalid (expected: pattern \\S)",
            "weight invalid (expected: exclusiveMinimum 0)",
            "tags invalid (expected: maxItems 1)");
    assertThat(problems(invalid)).isEqualTo(all);
    assertThat(problems(invalid.replace("}", ",\"more\":1}")))
        .startsWith(all.toArray(String[]::new))
        .hasSize(7);
  }

  @Test
  void textsThatAreNoNumbersAndFinalLineBreaksAreProblems() {
    String json =
        "{\"count\":9,\"name\":\"ab\",\"code\":\"x\\n\",\"note\":\"y\",\"weight\":\"NaN\",\"tags\":[]}";
    assertThat(problems(json))
        .containsExactly(
            "code invalid (expected: pattern ^(?:[a-z]+)$)",
            "weight invalid (expected: exclusiveMinimum 0)");
  }

  @Test
  void allLimitsOfOneKeywordApply() {
    ValueModel as = new TypeModels(bounded).of(bounded);
    assertThat(problems(bounded, as, "{\"name\":\"a\",\"count\":3,\"text\":\" a\"}")).isEmpty();
    assertThat(problems(bounded, as, "{\"name\":\"\",\"count\":2,\"text\":\" \"}"))
        .containsExactly(
            "name invalid (expected: minLength 1)",
            "count invalid (expected: minimum 3)",
            "text invalid (expected: pattern ^(?=[\\s\\S]*\\S)(?:[a ]*)$)");
    assertThat(problems(bounded, as, "{\"name\":\"a\",\"count\":3,\"text\":\"b\"}")).hasSize(1);
  }

  /** Returns a body: a number, repetitions and a value that is no number. */
  private static String numbers(int repetitions, String each) {
    return "{\"all\":[7" + each.repeat(repetitions) + ",\"x\"]}";
  }

  private List<String> problemsOfNumbers(String json) {
    return problems(Numbers.class, new TypeModels(Numbers.class).of(Numbers.class), json);
  }

  @Test
  void searchEndsWithTheLastProblemOfTheList() {
    String json = numbers(ProblemList.MAX_PROBLEMS, ",null");
    assertThat(problemsOfNumbers(json)).hasSize(ProblemList.MAX_PROBLEMS).noneMatch(TEXT);
    assertThat(problemsOfNumbers(json.replaceFirst(",null", ""))).anyMatch(TEXT);
  }

  @Test
  void searchEndsWithTheLastParse() {
    String late = numbers(ValueCheck.MAX_PARSES - 2, ",7").replace("]", ",null]");
    assertThat(problemsOfNumbers(late)).singleElement().matches(TEXT);
    assertThat(problemsOfNumbers(late.replaceFirst(",7", ""))).hasSize(2);
    String later = numbers(ValueCheck.MAX_PARSES, ",7"); // named by the parse of the whole body
    assertThat(problemsOfNumbers(later)).singleElement().matches(TEXT);
  }

  @Test
  void largeInvalidBodyHasItsFirstProblemOnly() {
    String json = numbers(1, ",null,\"x\"");
    String fill = " ".repeat(JsonBodyReader.MAX_SEARCHED_BYTES - json.length());
    assertThat(problemsOfNumbers(json + fill)).hasSize(3);
    assertThat(problemsOfNumbers(json + fill + " ")).singleElement().matches(TEXT);
  }

  @Test
  void largeValidBodyEndsItsSearchWithinBounds() {
    String json = numbers(1_000_000, ",null").replace(",\"x\"", "");
    long began = System.nanoTime();
    assertThat(problemsOfNumbers(json)).hasSize(ProblemList.MAX_PROBLEMS);
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(20));
  }
}
