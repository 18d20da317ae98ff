package dev.berth.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every Java file in README, getting started and the guide compiles as shown. */
class GuideTest {
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\\n(.*?)^```");
  private static final Pattern NAME = Pattern.compile("public (?:final )?class (\\w+)");

  @TempDir Path classes;

  /** The documents that contain Java files; each page of the guide belongs to them. */
  static List<Path> documents() throws IOException {
    List<Path> documents = new ArrayList<>();
    try (Stream<Path> pages = Files.list(Path.of("docs", "guide"))) {
      documents.addAll(pages.sorted().toList());
    }
    documents.add(Path.of("docs", "getting-started.md"));
    documents.add(Path.of("README.md"));
    documents.removeIf(each -> filesOf(each).isEmpty());
    return documents;
  }

  @Test
  void guideAndReadmeContainJavaFiles() throws IOException {
    assertThat(documents())
        .hasSizeGreaterThanOrEqualTo(9)
        .contains(
            Path.of("README.md"),
            Path.of("docs/getting-started.md"),
            Path.of("docs/guide/handlers.md"));
  }

  @Test
  void everyPageOfTheGuideBeginsWithAnExample() throws IOException {
    try (Stream<Path> pages = Files.list(Path.of("docs", "guide"))) {
      assertThat(pages)
          .hasSizeGreaterThanOrEqualTo(14)
          .allSatisfy(
              page -> assertThat(Files.readString(page).split("\\n## ", 2)[0]).contains("\n```"));
    }
  }

  @ParameterizedTest
  @MethodSource("documents")
  void everyJavaFileOfADocumentCompiles(Path document) throws IOException {
    List<JavaFileObject> files = filesOf(document);
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();

    boolean compiled =
        compiler
            .getTask(
                messages,
                null,
                null,
                List.of("-d", classes.toString(), "--release", "17", "-Xlint:" + lints()),
                null,
                files)
            .call();

    assertThat(compiled).as(messages.toString()).isTrue();
    assertThat(messages.toString()).isEmpty();
  }

  private static List<JavaFileObject> filesOf(Path document) {
    List<JavaFileObject> files = new ArrayList<>();
    try {
      Matcher block = BLOCK.matcher(Files.readString(document));
      while (block.find()) {
        files.add(new Source(block.group(1)));
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return files;
  }

  /** Returns the lints that the build names; a newer javac has more of them. */
  private static String lints() throws IOException {
    Matcher lints =
        Pattern.compile("<lints>(.+)</lints>").matcher(Files.readString(Path.of("pom.xml")));
    assertThat(lints.find()).as("<lints> in pom.xml").isTrue();
    return lints.group(1);
  }

  /** A source file in memory, named by the class that it declares. */
  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String text) {
      super(URI.create("string:///" + nameOf(text) + ".java"), Kind.SOURCE);
      this.text = text;
    }

    private static String nameOf(String text) {
      Matcher name = NAME.matcher(text);
      if (!name.find()) {
        throw new AssertionError("no public class in:\n" + text);
      }
      return name.group(1);
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
