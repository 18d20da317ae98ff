package dev.berth.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every Java file that a document shows compiles as it stands. */
class GuideTest {
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\\n(.*?)^```");
  private static final Pattern NAME = Pattern.compile("public (?:final )?class (\\w+)");

  @TempDir Path classes;

  @ParameterizedTest
  @ValueSource(strings = {"docs/guide.md", "docs/getting-started.md", "README.md"})
  void everyJavaFileOfADocumentCompiles(String document) throws IOException {
    List<JavaFileObject> files = new ArrayList<>();
    Matcher block = BLOCK.matcher(Files.readString(Path.of(document)));
    while (block.find()) {
      files.add(new Source(block.group(1)));
    }
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

    assertThat(files).isNotEmpty();
    assertThat(compiled).as(messages.toString()).isTrue();
    assertThat(messages.toString()).isEmpty();
  }

  /** Those that the build names: a newer javac has more of them. */
  private static String lints() throws IOException {
    Matcher lints =
        Pattern.compile("<lints>(.+)</lints>").matcher(Files.readString(Path.of("pom.xml")));
    assertThat(lints.find()).as("<lints> in pom.xml").isTrue();
    return lints.group(1);
  }

  /** A file held in memory, named by the class that it declares. */
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
