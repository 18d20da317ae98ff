package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.berth.web.TypedRequest.NoValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Templates against paths; the properties print a seed when they fail. */
class RouteTreeTest {
  private static final String[] WORDS = {"a", "b", "%61", "", "..", "%2e.", "%2F", "%", "%zz", "+"};

  private static final TypeModels MODELS = new TypeModels(RouteTreeTest.class);
  private static final ParameterBinder NONE = new ParameterBinder(NoValue.class, List.of(), MODELS);

  private final RouteTree tree = new RouteTree();

  private static TypedRoute route(String method, String template) {
    RouteTree.check(template);
    return new TypedRoute(
        method, template, "here", NONE, null, MODELS.of(String.class), (request, context) -> "");
  }

  private void add(String... templates) {
    for (String each : templates) {
      tree.add(route("GET", each));
    }
  }

  private String found(String path) {
    RouteTree.RouteMatch match = tree.find(path);
    return match == null
        ? "none"
        : match.node().routes.get("GET").template + " " + String.join(",", match.values());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/|/ ",
        "/items|/items ",
        "/items/|none",
        "/items/7|/items/{id} 7",
        "/items/new|/items/new ",
        "/items/n%65w|/items/new ",
        "/items/new/x|/items/{id}/{part} new,x",
        "/items/a%2Fb|/items/{id} a/b",
        "/items/a+b|/items/{id} a+b",
        "/items/gr%C3%BC%C3%9F|/items/{id} grüß",
        "/items/%C3|none",
        "/items/%2|none",
        "/items/..|none",
        "/items/%2e%2E|none",
        "/items/.|none",
        "/items//x|none",
        "//items|none",
        "/other|none"
      })
  void literalsPrecedeParametersAndSegmentsAreDecoded(String path, String expected) {
    add("/", "/items", "/items/{id}", "/items/new", "/items/{id}/{part}", "/items/new/only");
    assertThat(found(path)).isEqualToIgnoringWhitespace(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "items",
        "/a/{id",
        "/{a}/{a}",
        "/x{id}",
        "/{}",
        "/{1}",
        "/a//b",
        "/..",
        "/a?b"
      })
  void templatesOfAnotherFormAreRefused(String template) {
    assertThatIllegalArgumentException().isThrownBy(() -> RouteTree.check(template));
  }

  @Test
  void conflictNamesBothPlaces() {
    add("/items/{id}");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> add("/items/{id}"))
        .withMessageContaining("GET /items/{id} (here) conflicts with GET /items/{id} (here)");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tree.add(route("PUT", "/items/{key}")))
        .withMessageContaining("/items/{key}");
    tree.add(route("PUT", "/items/{id}"));
  }

  @Property(tries = 500)
  void anyPathFindsTheRouteThatASearchOfAllTemplatesFinds(@ForAll long seed) {
    Random random = new Random(seed);
    RouteTree any = new RouteTree();
    List<String> templates = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      String template = template(random);
      if (!templates.contains(template)) {
        templates.add(template);
        any.add(route("GET", template));
      }
    }
    for (int i = 0; i < 50; i++) {
      String path = path(random);
      RouteTree.RouteMatch match = any.find(path);
      String found = match == null ? "" : match.node().routes.get("GET").template;
      assertThat(found).as("%s in %s", path, templates).isEqualTo(search(templates, path));
    }
  }

  /** The best template: compared segment by segment, a literal precedes. */
  private static String search(List<String> templates, String path) {
    String best = "";
    for (String each : templates) {
      if (fits(each, path) && (best.isEmpty() || shape(each).compareTo(shape(best)) < 0)) {
        best = each;
      }
    }
    return best;
  }

  private static String shape(String template) {
    return template.replaceAll("\\{\\w+}", "~");
  }

  private static boolean fits(String template, String path) {
    String[] words = template.split("/", -1);
    String[] segments = path.split("/", -1);
    boolean fits = words.length == segments.length;
    for (String segment : segments) {
      String text = RouteTree.decode(segment);
      fits &= text != null && !text.equals(".") && !text.equals("..");
    }
    for (int i = 1; fits && i < words.length; i++) {
      String text = RouteTree.decode(segments[i]);
      fits = words[i].startsWith("{") ? !text.isEmpty() : words[i].equals(text);
    }
    return fits;
  }

  private static String template(Random random) {
    StringBuilder template = new StringBuilder();
    int length = 1 + random.nextInt(4);
    for (int i = 0; i < length; i++) {
      template
          .append('/')
          .append(random.nextInt(3) == 0 ? "{p" + i + "}" : WORDS[random.nextInt(2)]);
    }
    return template.toString();
  }

  private static String path(Random random) {
    StringBuilder path = new StringBuilder();
    int length = 1 + random.nextInt(4);
    for (int i = 0; i < length; i++) {
      int bound = random.nextInt(3) == 0 ? WORDS.length : 3;
      path.append('/').append(WORDS[random.nextInt(bound)]);
    }
    return path.toString();
  }

  @Test
  void longPathsEndAtTheDepthOfTheTree() {
    add("/{a}/{b}/{c}/{d}/end");
    assertThat(found("/x".repeat(100_000))).isEqualTo("none");
    assertThat(found("/%41/b/c/d/end")).isEqualTo("/{a}/{b}/{c}/{d}/end A,b,c,d");
  }
}
