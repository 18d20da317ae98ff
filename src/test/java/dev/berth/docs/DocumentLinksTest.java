package dev.berth.docs;

import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Relative links of README and the documents lead to existing files and anchors. */
class DocumentLinksTest {
  private static final Pattern CODE = Pattern.compile("(?ms)^ *```.*?^ *```$");
  private static final Pattern SPAN = Pattern.compile("`[^`\\n]*`");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} +(.+)$");
  private static final Pattern ANCHOR = Pattern.compile("<a (?:id|name)=\"([^\"]+)\"");

  @Test
  void relativeLinksResolve() throws IOException {
    Set<Path> documents =
        new TreeSet<>(Set.of(Path.of("README.md"), Path.of("load-tests/README.md")));
    try (Stream<Path> docs = Files.walk(Path.of("docs"))) {
      documents.addAll(docs.filter(each -> each.toString().endsWith(".md")).toList());
    }
    assertThat(documents).hasSizeGreaterThan(30);

    assertThat(broken(documents)).isEmpty();
  }

  @Test
  void missingFileAndAnchorAreReported(@TempDir Path folder) throws IOException {
    Path page = folder.resolve("page.md");
    String text =
        """
        # The `a b`, c: d
        ## Twice
        ## Twice
        <a id="old"></a>
        [1](#the-a-b-c-d) [2](page.md#twice-1) [3](#old) [4](https://example.org/x) `[5](no.md)`
        ```
        [6](no.md)
        ```
        [7](other.md) [8](#twice-2)
        """;
    Files.writeString(page, text);

    assertThat(broken(Set.of(page)))
        .containsExactly(page + ": other.md: no such file", page + ": #twice-2: no such anchor");
  }

  private static List<String> broken(Set<Path> documents) throws IOException {
    Map<Path, Set<String>> anchors = new HashMap<>();
    List<String> broken = new ArrayList<>();
    for (Path document : documents) {
      Matcher link =
          LINK.matcher(
              SPAN.matcher(CODE.matcher(Files.readString(document)).replaceAll(""))
                  .replaceAll("``"));
      while (link.find()) {
        String target = link.group(1);
        if (target.contains("://") || target.startsWith("mailto:")) {
          continue;
        }
        String[] parts = target.split("#", 2);
        Path file = parts[0].isEmpty() ? document : document.resolveSibling(parts[0]).normalize();
        if (file.startsWith("target")) {
          continue; // written by a build
        }
        if (!Files.exists(file)) {
          broken.add(document + ": " + target + ": no such file");
        } else if (parts.length == 2 && file.toString().endsWith(".md")) {
          if (!anchors.containsKey(file)) {
            anchors.put(file, anchorsOf(Files.readString(file)));
          }
          if (!anchors.get(file).contains(parts[1])) {
            broken.add(document + ": " + target + ": no such anchor");
          }
        }
      }
    }
    return broken;
  }

  /** Anchors by GitHub's rule: lower case, hyphens for blanks, no punctuation, numbered repeats. */
  private static Set<String> anchorsOf(String text) {
    String prose = CODE.matcher(text).replaceAll("");
    Set<String> anchors =
        ANCHOR
            .matcher(prose)
            .results()
            .map(each -> each.group(1))
            .collect(toCollection(HashSet::new));
    Map<String, Integer> repeats = new HashMap<>();
    HEADING
        .matcher(prose)
        .results()
        .map(each -> each.group(1).strip().replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1"))
        .map(each -> each.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N}_\\- ]", ""))
        .map(each -> each.replace(' ', '-'))
        .forEach(
            each -> {
              int before = repeats.merge(each, 1, Integer::sum) - 1;
              anchors.add(before == 0 ? each : each + "-" + before);
            });
    return anchors;
  }
}
