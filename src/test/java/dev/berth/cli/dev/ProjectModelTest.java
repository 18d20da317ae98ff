package dev.berth.cli.dev;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProjectModelTest {
  private static final Path CLASSES = Path.of("/tmp/classes");

  /** Lines of {@code mvn -X}, shortened. */
  private static final String MAVEN =
      """
      [INFO] --- resources:3.3.1:resources (default-resources) @ shop ---
      [DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-resources-plugin:3.3.1:resources' with basic configurator -->
      [DEBUG]   (f) encoding = ISO-8859-1
      [DEBUG]   (s) resources = [Resource {targetPath: null, filtering: false, FileSet {directory: /p/src/main/resources, PatternSet [includes: {}, excludes: {}]}}]
      [DEBUG] -- end configuration --
      [DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-compiler-plugin:3.16.0:compile' with basic configurator -->
      [DEBUG]   (f) compilePath = [/p/target/classes, /m2/berth-api.jar, /m2/a, b.jar]
      [DEBUG]   (f) compileSourceRoots = [/p/src/main/java, /p/target/generated-sources/annotations]
      [DEBUG]   (s) compilerArgs = [-Xlint:all, -Werror]
      [DEBUG]   (f) encoding = UTF-8
      [DEBUG]   (f) generatedSourcesDirectory = /p/target/generated-sources/annotations
      [DEBUG]   (f) outputDirectory = /p/target/classes
      [DEBUG]   (s) parameters = true
      [DEBUG]   (s) release = 17
      [DEBUG]   (f) source = 1.8
      [DEBUG] -- end configuration --
      [DEBUG]   (f) encoding = none
      [DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-compiler-plugin:3.16.0:testCompile' with basic configurator -->
      [DEBUG]   (s) release = 21
      [DEBUG] -- end configuration --
      [DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-compiler-plugin:3.16.0:compile' with basic configurator -->
      [DEBUG]   (s) release = 9
      [DEBUG] -- end configuration --
      """;

  private static ProjectModel maven(String... replaced) {
    String text = MAVEN;
    for (int i = 0; i < replaced.length; i += 2) {
      assertThat(text).contains(replaced[i]);
      text = text.replace(replaced[i], replaced[i + 1]);
    }
    return ProjectModel.parse(text.lines().toList());
  }

  @Test
  void optionsAreThoseOfTheFirstMainCompilation() {
    assertThat(maven().options(CLASSES))
        .containsExactly(
            "-g",
            "-d",
            "/tmp/classes",
            "-cp",
            "/m2/berth-api.jar:/m2/a, b.jar",
            "-encoding",
            "UTF-8",
            "--release",
            "17",
            "-parameters",
            "-Xlint:all",
            "-Werror");
    assertThat(maven("  (s) release = 17\n", "  (s) target = 11\n").options(CLASSES))
        .containsSequence("--source", "1.8", "--target", "11")
        .doesNotContain("--release");
  }

  @Test
  void rootsAreTheWrittenSourcesAndResources() {
    assertThat(maven().sourceRoots()).containsExactly(Path.of("/p/src/main/java"));
    assertThat(maven().resources()).containsExactly(Path.of("/p/src/main/resources"));
    assertThat(maven().outputs()).containsExactly(Path.of("/p/target/classes"));
    assertThat(maven("/p/src/main/resources", "/p").resources())
        .as("a root with the outputs would change at each build")
        .isEmpty();
  }

  @Test
  void resourcesThatTheBuildChangesAreNotCopied() {
    assertThat(maven().copiesResources()).isTrue();
    assertThat(maven("filtering: false", "filtering: true").copiesResources()).isFalse();
    assertThat(maven("targetPath: null", "targetPath: x").copiesResources()).isFalse();
    assertThat(maven("excludes: {}", "excludes: {*.md}").copiesResources()).isFalse();
  }

  @Test
  void otherLanguagesModulesAndProcessorPathsNeedTheBuildTool() {
    Path java = Path.of("/p/src/main/java/A.java");
    assertThat(maven().isJavaAlone(List.of(java))).isTrue();
    for (String other : List.of("kotlin/A.kt", "java/A.groovy", "java/module-info.java")) {
      assertThat(maven().isJavaAlone(List.of(java, Path.of("/p/src/main", other)))).isFalse();
    }
    assertThat(maven("encoding = UTF-8", "annotationProcessorPaths = [x]").isJavaAlone(List.of()))
        .isFalse();
    assertThat(ProjectModel.parse(List.of()).isJavaAlone(List.of())).isFalse();
  }

  @Test
  void gradleScriptPrintsTheSameForm() {
    ProjectModel gradle =
        ProjectModel.parse(
            """
            [DEBUG] Configuring mojo 'gradle:compile'
            [DEBUG]   (f) compilePath = [/p/build/classes/java/main, /c/berth-api.jar]
            [DEBUG]   (f) outputDirectories = [/p/build/classes/java/main, /p/build/resources/main]
            [DEBUG]   (f) compileSourceRoots = [/p/src/main/java]
            [DEBUG]   (f) compilerArgs = []
            [DEBUG] -- end configuration --
            [DEBUG] Configuring mojo 'gradle:resources'
            [DEBUG]   (f) resources = [directory: /p/src/main/resources, PatternSet]
            [DEBUG] -- end configuration --
            """
                .lines()
                .toList());
    assertThat(gradle.outputs())
        .containsExactly(Path.of("/p/build/classes/java/main"), Path.of("/p/build/resources/main"));
    assertThat(gradle.options(CLASSES)).containsSequence("-cp", "/c/berth-api.jar");
    assertThat(gradle.resources()).containsExactly(Path.of("/p/src/main/resources"));
    assertThat(gradle.copiesResources()).isTrue();
  }
}
