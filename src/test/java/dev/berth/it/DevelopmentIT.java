package dev.berth.it;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code berth new} and {@code berth dev} as processes. The project has a wrapper of its own in
 * place of Maven: it prints the compiler's settings as Maven does, and calls javac and jar.
 */
@Timeout(120)
class DevelopmentIT {
  private static final Pattern URL = Pattern.compile("berth: shop: (http://127.0.0.1:\\d+)/");

  private static final String NOT_SENT =
      "berth: http_options of the file: not sent, applied at the start of an instance";

  private static final String WRAPPER =
      """
      #!/bin/sh
      here=$(cd "$(dirname "$0")" && pwd); echo run >> "$here/runs"
      grep -q '</project>' "$here/pom.xml" || { echo "[ERROR] pom.xml: malformed"; exit 1; }
      echo "[DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-resources-plugin:3.3.1:resources' with"
      echo "[DEBUG]   (s) resources = [Resource {targetPath: null, filtering: false, FileSet {directory: $here/src/main/resources, PatternSet [includes: {}, excludes: {}]}}]"
      echo "[DEBUG] -- end configuration --"
      echo "[DEBUG] Configuring mojo 'org.apache.maven.plugins:maven-compiler-plugin:3.16.0:compile' with"
      echo "[DEBUG]   (f) compilePath = [$here/target/classes, JARS]"
      echo "[DEBUG]   (f) compileSourceRoots = [$here/src/main/java]"
      echo "[DEBUG]   (f) encoding = UTF-8"
      echo "[DEBUG]   (f) outputDirectory = $here/target/classes"
      echo "[DEBUG]   (f) parameters = true"
      echo "[DEBUG]   (f) release = 17"
      echo "[DEBUG] -- end configuration --"
      mkdir -p "$here/target/classes"
      BIN/javac -parameters --release 17 -cp "CLASSES" -d "$here/target/classes" \\
        $(find "$here/src/main/java" -name '*.java') || exit 1
      BIN/jar cf "$here/target/shop.jar" -C "$here/target/classes" .
      """;

  private static final String SHOP =
      """
      package app;

      import dev.berth.api.Application;
      import dev.berth.api.Deployment;
      import dev.berth.api.Response;
      import io.vertx.core.Future;

      public final class Shop {
        public static Application build() {
          return Application.of(
              Deployment.async(
                  "shop", (request, context) -> Future.succeededFuture(Response.text(text()))));
        }

        private static String text() {
          String found;
          try {
            found = Class.forName("app.Extra").getSimpleName();
          } catch (ClassNotFoundException missing) {
            found = "no class";
          }
          return "first " + found;
        }
      }
      """;

  private @TempDir Path folder;
  private Path project;
  private Path source;

  private static List<String> berth(String... words) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx512m", "-jar", requireNonNull(System.getProperty("berth.jar"))));
    command.addAll(List.of(words));
    return command;
  }

  @BeforeEach
  void makeProject() throws Exception {
    Process made =
        new ProcessBuilder(berth("new", "shop"))
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .start();
    assertThat(new String(made.getInputStream().readAllBytes())).contains("shop/pom.xml", "Next: ");
    assertThat(made.waitFor()).isZero();
    project = folder.resolve("shop");
    source = project.resolve("src/main/java/app/Shop.java");
    Files.writeString(source, SHOP);
    Files.writeString(
        project.resolve("berth.yaml"),
        """
        applications:
          - name: shop
            route_prefix: /
            import_path: app.Shop:build
            runtime_env: {jars: [target/shop.jar]}
        """);
    String jars =
        Stream.of(System.getProperty("java.class.path").split(":"))
            .filter(each -> each.matches("(.*/)?(target/classes|vertx-core-[^/]*|slf4j-api[^/]*)"))
            .map(each -> Path.of(each).toAbsolutePath().toString())
            .reduce((left, right) -> left + ":" + right)
            .orElseThrow();
    Path wrapper = project.resolve("mvnw");
    String bin = Path.of(System.getProperty("java.home"), "bin").toString();
    Files.writeString(
        wrapper,
        WRAPPER
            .replace("JARS", jars.replace(":", ", "))
            .replace("CLASSES", jars)
            .replace("BIN", bin));
    assertThat(wrapper.toFile().setExecutable(true)).isTrue();
  }

  private Server develop() throws IOException {
    return Server.launch(
        new ProcessBuilder(berth("dev", "--port", "0", "--admin-port", "0"))
            .directory(project.toFile()));
  }

  private static String url(Server server) {
    server.await("a URL", () -> server.prints(URL.asPredicate()));
    Matcher found = URL.matcher(String.join("\n", server.output()));
    assertThat(found.find()).isTrue();
    return found.group(1);
  }

  private static HttpResponse<String> get(Server server, String url) {
    try {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
      return server.http.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException | InterruptedException failed) {
      throw new AssertionError(failed);
    }
  }

  private static void awaitText(Server server, String url, String text) {
    server.await(text, () -> get(server, url).body().contains(text));
  }

  private void write(String from, String to) throws IOException {
    assertThat(SHOP).contains(from);
    Files.writeString(source, SHOP.replace(from, to));
  }

  private long runs() throws IOException {
    return Files.readAllLines(project.resolve("runs")).size();
  }

  @Test
  void changesAreLiveAndErrorsAreShown() throws Exception {
    Path extra =
        Files.writeString(source.resolveSibling("Extra.java"), "package app; class Extra {}");
    try (Server server = develop()) {
      String url = url(server);
      awaitText(server, url, "first Extra");

      write("first", "second");
      awaitText(server, url, "second Extra");
      Files.delete(extra);
      awaitText(server, url, "second no class"); // no stale class after the reload
      assertThat(runs()).as("runs of the build tool").isEqualTo(1);

      write("text()", "text(");
      awaitText(server, url, "src/main/java/app/Shop.java:12: ");
      HttpResponse<String> page = get(server, url);
      assertThat(page.statusCode()).isEqualTo(503);
      assertThat(page.headers().firstValue("content-type")).contains("text/plain; charset=utf-8");
      assertThat(server.prints(line -> line.startsWith("berth: src/main/java/app/Shop.java:12: ")))
          .isTrue();
      write("first", "third");
      awaitText(server, url, "third no class");

      Path pom = project.resolve("pom.xml");
      String valid = Files.readString(pom);
      Files.writeString(pom, valid.replace("</project>", ""));
      awaitText(server, url, "pom.xml: malformed");
      Files.writeString(pom, valid + "\n");
      awaitText(server, url, "third no class");
      assertThat(runs()).isEqualTo(3);

      Path file = project.resolve("berth.yaml");
      Files.writeString(file, Files.readString(file) + "http_options: {keep_alive_timeout_s: 7}\n");
      server.await("the key", () -> server.prints(NOT_SENT::equals));

      server.terminate();
      assertThat(server.exitCode()).isZero();
    }
    assertThat(project.resolve("berth-state")).doesNotExist();
  }

  @Test
  void projectThatDoesNotBuildAtTheStartShowsItsErrors() throws Exception {
    write("text()", "text(");
    try (Server server = develop()) {
      server.await("the errors", () -> server.prints(line -> line.contains("build failed")));
      String url = url(server);
      awaitText(server, url, "build failed");
      write("first", "mended");
      awaitText(server, url, "mended");
    }
  }

  @Test
  void secondLoopInTheFolderIsRefused() throws Exception {
    try (Server server = develop()) {
      url(server);
      try (Server second = develop()) {
        assertThat(second.exitCode()).isEqualTo(1);
        assertThat(second.output())
            .anyMatch(line -> line.contains("is a berth dev of this folder"));
      }
    }
  }

  @Test
  void signalDuringABuildEndsTheBuild() throws Exception {
    Path wrapper = project.resolve("mvnw");
    Files.writeString(wrapper, "#!/bin/sh\necho $$ > \"$(dirname \"$0\")/runs\"\nexec sleep 300\n");
    try (Server server = develop()) {
      server.await("a build", () -> project.resolve("runs").toFile().length() > 0);
      long build = Long.parseLong(Files.readString(project.resolve("runs")).strip());
      server.terminate();
      assertThat(server.exitCode()).isZero();
      assertThat(ProcessHandle.of(build).filter(ProcessHandle::isAlive)).isEmpty();
    }
  }
}
