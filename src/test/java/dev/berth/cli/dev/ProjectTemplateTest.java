package dev.berth.cli.dev;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProjectTemplateTest {
  private @TempDir Path folder;

  private List<String> write(String variant) throws IOException {
    Path project = folder.resolve(variant);
    return new ProjectTemplate("my-shop", variant, "1.2.3")
        .write(project).stream().map(each -> project.relativize(each).toString()).toList();
  }

  @Test
  void eachVariantHasItsFiles() throws IOException {
    assertThat(write("java"))
        .containsExactly(
            ".gitignore",
            "README.md",
            "berth.yaml",
            "pom.xml",
            "src/main/java/app/Shop.java",
            "src/test/java/app/ShopTest.java");
    assertThat(write("kotlin")).contains("pom.xml", "src/main/kotlin/app/Shop.kt");
    assertThat(write("gradle"))
        .contains("build.gradle.kts", "settings.gradle.kts", "src/main/java/app/Shop.java");
  }

  @ParameterizedTest
  @ValueSource(strings = {"java", "kotlin", "gradle"})
  void noPlaceholderRemains(String variant) throws IOException {
    for (String each : write(variant)) {
      String text = Files.readString(folder.resolve(variant).resolve(each));
      assertThat(text).as(each).doesNotContainPattern("@[a-z]+@").endsWith("\n");
    }
    String jars = variant.equals("gradle") ? "[build/libs/my-shop.jar, " : "[target/my-shop.jar, ";
    assertThat(folder.resolve(variant).resolve("berth.yaml")).content().contains(jars);
  }

  @Test
  void javaSourcesCompileWithParameterNames() throws IOException {
    write("java");
    Path project = folder.resolve("java");
    Path classes = Files.createDirectory(folder.resolve("classes"));
    String path =
        Stream.of(System.getProperty("java.class.path").split(":"))
            .map(each -> Path.of(each).toAbsolutePath().toString())
            .collect(Collectors.joining(", "));
    Map<String, String> values =
        Map.of("compile.compilePath", "[" + path + "]", "compile.release", "17");
    try (SourceCompiler compiler = new SourceCompiler(project)) {
      List<Path> sources =
          List.of(
              project.resolve("src/main/java/app/Shop.java"),
              project.resolve("src/test/java/app/ShopTest.java"));
      assertThat(compiler.compile(new ProjectModel(values), sources, classes)).isEmpty();
    }
  }

  @Test
  void usedFolderStaysAsItIs() throws IOException {
    write("java");
    Path readme = folder.resolve("java/README.md");
    Files.writeString(readme, "mine");
    assertThatThrownBy(() -> write("java"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("not empty");
    assertThat(readme).hasContent("mine");
  }
}
