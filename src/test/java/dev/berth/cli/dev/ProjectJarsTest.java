package dev.berth.cli.dev;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProjectJarsTest {
  private @TempDir Path folder;
  private ProjectJars jars;
  private ProjectModel model;

  @BeforeEach
  void build() throws IOException {
    jars = new ProjectJars(Files.createDirectory(folder.resolve("scratch")));
    model =
        new ProjectModel(
            Map.of(
                "compile.outputDirectory",
                folder.resolve("target/classes").toString(),
                "resources.resources",
                "directory: " + folder.resolve("resources") + ", PatternSet"));
    write("target/classes/shop/Shop.class");
    write("target/classes/shop/Old.class");
    write("target/classes/copied.txt");
    write("target/classes/made-by-plugin.txt");
    write("target/classes/META-INF/services/x");
    write("resources/copied.txt");
    write("resources/META-INF/services/x");
    jars.ofBuild(model, true);
  }

  private Path write(String name) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, name);
  }

  private Path jar(String name, String... entries) throws IOException {
    Path jar = folder.resolve(name);
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      for (String each : entries) {
        out.putNextEntry(new ZipEntry(each));
        out.write(each.getBytes());
      }
    }
    return jar;
  }

  private static List<String> entries(Path jar) throws IOException {
    try (ZipFile file = new ZipFile(jar.toFile())) {
      return file.stream()
          .filter(each -> !each.isDirectory())
          .map(ZipEntry::getName)
          .sorted()
          .toList();
    }
  }

  @Test
  void jarOfClassesHasNoStaleClassAndNoStaleResource() throws IOException {
    write("compiled/shop/Shop.class");
    Files.delete(folder.resolve("resources/copied.txt"));
    write("resources/new.txt");
    Path jar = jars.ofClasses(model, folder.resolve("compiled"));
    assertThat(entries(jar))
        .containsExactly("META-INF/services/x", "made-by-plugin.txt", "new.txt", "shop/Shop.class");
  }

  @Test
  void jarBeforeIsRemoved() throws IOException {
    Path first = jars.ofBuild(model, false);
    Path second = jars.ofBuild(model, false);
    assertThat(second).isNotEqualTo(first).exists();
    assertThat(first).as("the instance has a copy").doesNotExist();
  }

  @Test
  void substitutesOfProjectJarsHaveTheirLibrariesAlone() throws IOException {
    Path classes = folder.resolve("classes-1.jar");
    Path thin = jar("thin.jar", "META-INF/MANIFEST.MF", "shop/Shop.class", "shop/Old.class");
    Files.delete(folder.resolve("target/classes/shop/Old.class"));
    jars.ofBuild(model, false); // the jars still have the class
    Path fat =
        jar("fat.jar", "shop/Shop.class", "shop/Old.class", "lib/A.class", "META-INF/services/x");
    Path library = jar("library.jar", "lib/B.class");

    List<Path> ofThin = jars.substituted(List.of(thin, library), classes);
    assertThat(ofThin).hasSize(3).startsWith(classes).endsWith(library);
    assertThat(entries(ofThin.get(1))).containsExactly("META-INF/MANIFEST.MF");
    assertThat(jars.substituted(List.of(library), classes)).containsExactly(library);
    List<Path> ofFat = jars.substituted(List.of(fat, library), classes);
    assertThat(ofFat).hasSize(3).startsWith(classes).endsWith(library);
    assertThat(entries(ofFat.get(1))).containsExactly("META-INF/services/x", "lib/A.class");
  }

  @Test
  void jarOfErrorsHasThePageAndTheErrors() throws IOException {
    assertThat(entries(jars.ofErrors(List.of("A.java:1: <b>"))))
        .containsExactly("berth-errors.txt", "dev/berth/cli/dev/ErrorPage.class");
  }
}
