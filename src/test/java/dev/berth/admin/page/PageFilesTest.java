package dev.berth.admin.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules for the files of the page. */
class PageFilesTest {
  private static final Path PAGE = Path.of("src/main/resources/dev/berth/admin/page");
  private static final int MAX_BYTES = 300_000;
  private static final int MAX_CODE_LINES = 1500;

  /** Text that becomes HTML, style or code, and addresses of other servers. */
  private static final Pattern FORBIDDEN =
      Pattern.compile(
          "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|srcdoc|DOMParser|createContextual"
              + "|\\beval\\b|new Function|set(?:Timeout|Interval)\\(['\"`]|javascript:"
              + "|\\bstyle\\s*=|\\son[a-z]+\\s*=\\s*[\"']|setAttribute\\('(?:on|style)"
              + "|localStorage|sessionStorage|indexedDB|document\\.cookie|https?://|['\"`(]//");

  /** The namespace of SVG, which is a name and no address. */
  private static final String NAMESPACE = "xmlns=\"http://www.w3.org/2000/svg\"";

  private static final Pattern IMPORT =
      Pattern.compile("import (?:\\w+|\\{([^}]*)\\}) from '([^']+)'");
  private static final Pattern EXPORT =
      Pattern.compile("export (?:async )?(?:const|class|function\\*?) (\\w+)");
  private static final Pattern COMMENT = Pattern.compile("(?s)/\\*.*?\\*/");

  @Test
  void pageIsSmall() throws IOException {
    long bytes = 0;
    for (Path file : files(PAGE)) {
      bytes += Files.size(file);
    }
    assertThat(bytes).isLessThan(MAX_BYTES);
  }

  @Test
  void ownFilesHoldTheirLineBudget() throws IOException {
    int lines = 0;
    for (Path file : own()) {
      if (file.toString().matches(".*\\.(?:js|css)")) {
        lines +=
            (int)
                COMMENT
                    .matcher(Files.readString(file))
                    .replaceAll("")
                    .lines()
                    .filter(line -> !line.isBlank() && !line.matches("\\s*//.*|import .*"))
                    .count();
      }
    }
    assertThat(lines).isLessThanOrEqualTo(MAX_CODE_LINES);
  }

  @Test
  void libraryIsTheReleasedFile() throws IOException, NoSuchAlgorithmException {
    Path vendor = PAGE.resolve("vendor");
    List<String> sums = Files.readAllLines(vendor.resolve("uPlot.sha256"));
    assertThat(sums).hasSize(2);
    for (String sum : sums) {
      byte[] bytes = Files.readAllBytes(vendor.resolve(sum.substring(66)));
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
      assertThat(HexFormat.of().formatHex(digest)).isEqualTo(sum.substring(0, 64));
    }
    assertThat(vendor.resolve("uPlot.iife.min.js"))
        .content(StandardCharsets.UTF_8)
        .startsWith("/*! https://github.com/leeoniya/uPlot (v1.6.32) */")
        .doesNotContain("innerHTML", "eval(", "new Function");
    assertThat(vendor.resolve("uPlot.LICENSE")).content().contains("MIT License");
  }

  @Test
  void textsNeverBecomeHtmlAndNoOtherServerIsNamed() throws IOException {
    for (Path file : own()) {
      String text = Files.readString(file).replace(NAMESPACE, "");
      assertThat(FORBIDDEN.matcher(text).results().map(MatchResult::group).toList())
          .as(file.toString())
          .isEmpty();
    }
  }

  @Test
  void importedNamesExist() throws IOException {
    Map<Path, List<String>> exports = new TreeMap<>();
    for (Path file : scripts()) {
      exports.put(
          file,
          EXPORT.matcher(Files.readString(file)).results().map(found -> found.group(1)).toList());
    }
    for (Path file : scripts()) {
      for (var found : IMPORT.matcher(Files.readString(file)).results().toList()) {
        Path from = file.resolveSibling(found.group(2)).normalize();
        assertThat(exports).as(file.toString()).containsKey(from);
        if (found.group(1) != null) {
          assertThat(exports.get(from))
              .as("%s imports from %s", file, from)
              .contains(found.group(1).trim().split(",\\s*"));
        }
      }
    }
  }

  private static List<Path> scripts() throws IOException {
    return own().stream().filter(file -> file.toString().endsWith(".js")).toList();
  }

  private static List<Path> own() throws IOException {
    return files(PAGE).stream().filter(file -> !file.startsWith(PAGE.resolve("vendor"))).toList();
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile).sorted().toList();
    }
  }
}
