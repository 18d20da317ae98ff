package dev.berth.build;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code bin/berth}, with Javas that print what they were given. */
class LauncherTest {
  @TempDir Path dir;
  private Path launcher;
  private Path jar;

  @BeforeEach
  void install() throws IOException {
    Path home = dir.resolve("a home");
    launcher = Files.createDirectories(home.resolve("bin")).resolve("berth");
    Files.copy(Path.of("bin/berth"), launcher);
    jar = Files.createFile(Files.createDirectories(home.resolve("lib")).resolve("berth.jar"));
  }

  @Test
  void theJavaOfJavaHomeGetsOptionsThenTheJarThenTheCommand() throws Exception {
    Map<String, String> env =
        Map.of(
            "JAVA_HOME",
            java("my java", "17.0.15").toString(),
            "BERTH_JAVA_OPTS",
            " -Xmx1g\n-Da=*  ");
    assertThat(run(env, launcher, "run", "-J-Db=two words", "an app.yaml", "--", "-J-Dc"))
        .containsExactly(
            "-Xmx1g",
            "-Da=*",
            "-Db=two words",
            "-jar",
            jar.toRealPath().toString(),
            "run",
            "an app.yaml",
            "--",
            "-J-Dc");
  }

  @Test
  void aCommandIsStartedForAMomentAndAServerForLong() throws Exception {
    String home = java("j", "17.0.15").toString();
    assertThat(run(Map.of("JAVA_HOME", home), launcher, "-J-Da", "status", "run"))
        .containsExactly(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Da",
            "-jar",
            jar.toRealPath().toString(),
            "status",
            "run");
    assertThat(
            run(
                Map.of("JAVA_HOME", home, "BERTH_JAVA_OPTS", "-Xmx1g -XX:+UseZGC"),
                launcher,
                "logs"))
        .as("two collectors are one too many for the JVM")
        .startsWith("-XX:TieredStopAtLevel=1", "-Xmx1g", "-XX:+UseZGC", "-jar");
    assertThat(run(Map.of("JAVA_HOME", home), launcher, "run", "status")).startsWith("-jar");
  }

  @Test
  void aServerTakesTheArchiveThatLiesBesideTheJarUnlessAnotherIsNamedOrMade() throws Exception {
    Path archive = Files.createFile(jar.resolveSibling("berth.jsa")).toRealPath();
    Map<String, String> env = Map.of("JAVA_HOME", java("j", "17.0.15").toString());
    String taken = "-XX:SharedArchiveFile=" + archive;
    assertThat(run(env, launcher, "run", "-J-Da")).startsWith(taken, "-Da", "-jar");
    assertThat(run(env, launcher)).startsWith(taken, "-jar");
    assertThat(run(env, launcher, "status")).doesNotContain(taken);
    for (String given :
        List.of("-XX:SharedArchiveFile=b", "-XX:ArchiveClassesAtExit=b", "-XX:AOTCache=b")) {
      assertThat(run(env, launcher, "-J" + given)).startsWith(given, "-jar");
    }
  }

  @Test
  void aJavaBehindLinksSaysItsVersionInItsFile() throws Exception {
    Path home = java("j", "17.0.15");
    Path tools = Files.createDirectory(dir.resolve("bin of mine"));
    Files.createSymbolicLink(tools.resolve("java"), home.resolve("bin/java"));
    Files.writeString(home.resolve("bin/java"), "#!/bin/sh\nprintf '%s\\n' asked \"$@\"\n");
    String path = tools + ":" + System.getenv("PATH");
    assertThat(run(Map.of("PATH", path), launcher, "run"))
        .containsExactly("asked", "-jar", jar.toRealPath().toString(), "run");
  }

  @Test
  void aLinkToALinkFindsTheJarOfTheTarget() throws Exception {
    Path relative = Files.createDirectories(dir.resolve("links")).resolve("berth");
    Files.createSymbolicLink(relative, Path.of("../a home/bin/berth"));
    Path link = Files.createSymbolicLink(dir.resolve("the berth"), relative);
    Files.createDirectories(jar.resolveSibling("../target"));
    Path built = Files.move(jar, jar.resolveSibling("../target/berth.jar"));
    assertThat(run(Map.of("JAVA_HOME", java("j", "21").toString()), link))
        .containsExactly("-jar", built.toRealPath().toString());
  }

  @Test
  void serverOnAJavaThatWarnsOfUnsafeIsNotWarned() throws Exception {
    String option = "--sun-misc-unsafe-memory-access=";
    String real = jar.toRealPath().toString();
    Map<String, String> env = Map.of("JAVA_HOME", java("j", "25.0.1").toString());
    assertThat(run(env, launcher, "run")).containsExactly(option + "allow", "-jar", real, "run");
    assertThat(run(env, launcher, "-J" + option + "warn", "run"))
        .containsExactly(option + "warn", "-jar", real, "run");
    assertThat(run(env, launcher, "status")).doesNotContain(option + "allow");
  }

  @Test
  void withoutJavaHomeTheJavaOfThePathIsAsked() throws Exception {
    String path = java("j", "21-ea").resolve("bin") + ":" + System.getenv("PATH");
    Files.delete(dir.resolve("j/release"));
    assertThat(run(Map.of("PATH", path), launcher)).startsWith("-jar");
  }

  @Test
  void aJavaThatIsTooOldOrMissingIsSaid() throws Exception {
    Path old = java("old", "1.8.0_392");
    assertThat(run(Map.of("JAVA_HOME", old.toString()), launcher))
        .containsExactly(
            "berth: %s/bin/java: Java 1.8.0_392 (expected: 17 or newer; JAVA_HOME names another)"
                .formatted(old));
    Files.delete(old.resolve("release"));
    String path = old.resolve("bin") + ":" + System.getenv("PATH");
    assertThat(run(Map.of("PATH", path), launcher).get(0)).contains(": Java 1.8.0_392 (expected");
    assertThat(run(Map.of("JAVA_HOME", "/no where"), launcher))
        .containsExactly(
            "berth: JAVA_HOME: /no where (expected: the home of a Java 17 or newer, with bin/java)");
    Path tools = Files.createDirectory(dir.resolve("tools"));
    Files.createSymbolicLink(tools.resolve("dirname"), Path.of("/usr/bin/dirname"));
    assertThat(run(Map.of("PATH", tools.toString()), Path.of("/bin/bash"), launcher.toString()))
        .containsExactly(
            "berth: java: not found (expected: JAVA_HOME, or a Java 17 or newer on the PATH)");
  }

  @Test
  void optionsOfTheInstallationComeBeforeThoseOfTheEnvironment() throws Exception {
    Files.writeString(jar.resolveSibling("java-options"), "-XX:MaxRAMPercentage=60\n-Da=1\n");
    Map<String, String> env =
        Map.of("JAVA_HOME", java("j", "21").toString(), "BERTH_JAVA_OPTS", "-Da=2");
    assertThat(run(env, launcher, "-J-Da=3", "run"))
        .startsWith("-XX:MaxRAMPercentage=60", "-Da=1", "-Da=2", "-Da=3", "-jar");
  }

  @Test
  void serverHasATemporaryFolderOfItsOwnAndRemovesThoseOfEndedServers() throws Exception {
    boolean locks = !run(Map.of(), Path.of("bash"), "-c", "command -v flock").isEmpty();
    assumeTrue(locks, "flock is not installed");
    Path files = dir.resolve("temporary files");
    Map<String, String> env =
        Map.of("JAVA_HOME", java("j", "21").toString(), "BERTH_TMPDIR", files.toString());
    Path old = Files.createDirectories(files.resolve("run.old/in it"));
    Path other = Files.createDirectory(files.resolve("another"));
    String option = "-Djava.io.tmpdir=" + files.resolve("run.");
    assertThat(run(env, launcher, "run").get(0)).startsWith(option);
    assertThat(old).doesNotExist();
    assertThat(other).exists();
    assertThat(run(env, launcher, "status").get(0)).doesNotContain("tmpdir");
    Path file = Files.createFile(dir.resolve("file"));
    Map<String, String> refused = new HashMap<>(env);
    refused.put("BERTH_TMPDIR", file.toString());
    assertThat(run(refused, launcher, "run"))
        .singleElement()
        .asString()
        .startsWith("berth: BERTH_TMPDIR: user ")
        .endsWith("cannot write to " + file + " (expected: a writable volume there)");
  }

  @Test
  void healthStartsNoJavaAndReadsOneStatus() throws Exception {
    assertThat(health("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nsuccess")).isEmpty();
    assertThat(health("HTTP/1.1 503 Service Unavailable\r\n\r\nThis node is being drained."))
        .singleElement()
        .asString()
        .endsWith(": HTTP/1.1 503 Service Unavailable: This node is being drained.");
    assertThat(health("SSH-2.0-x\r\n"))
        .singleElement()
        .asString()
        .contains(": no HTTP response within");
    assertThat(run(Map.of(), launcher, "health", "localhost:x"))
        .containsExactly("berth: health: localhost:x (expected: HOST:PORT)");
  }

  /** The output of {@code berth health} at a server with one answer. */
  private List<String> health(String answer) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread one =
          new Thread(
              () -> {
                try (Socket client = server.accept()) {
                  StringBuilder request = new StringBuilder();
                  while (request.indexOf("\r\n\r\n") < 0) {
                    request.append((char) client.getInputStream().read());
                  }
                  client.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                } catch (IOException closed) {
                  throw new UncheckedIOException(closed);
                }
              });
      one.start();
      Map<String, String> env = Map.of("JAVA_HOME", "/no where");
      List<String> lines = run(env, launcher, "health", "127.0.0.1:" + server.getLocalPort());
      one.join();
      return lines;
    }
  }

  @Test
  void aMissingJarIsSaid() throws Exception {
    Files.delete(jar);
    assertThat(run(Map.of(), launcher).get(0)).startsWith("berth: berth.jar: not in ");
  }

  /** The home of a Java that prints its arguments, one a line. */
  private Path java(String name, String version) throws IOException {
    Path home = dir.resolve(name);
    Path java = Files.createDirectories(home.resolve("bin")).resolve("java");
    Files.writeString(home.resolve("release"), "IMPLEMENTOR=x\nJAVA_VERSION=\"" + version + "\"\n");
    Files.writeString(
        java,
        """
        #!/bin/sh
        [ "$1" = -version ] && echo 'openjdk version "%s" 2020-01-01' >&2 && exit
        printf '%%s\\n' "$@"
        """
            .formatted(version));
    assertThat(java.toFile().setExecutable(true)).isTrue();
    return home;
  }

  private List<String> run(Map<String, String> env, Path program, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(program.toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).directory(dir.toFile());
    builder.environment().remove("JAVA_HOME");
    builder.environment().remove("BERTH_JAVA_OPTS");
    builder.environment().remove("BERTH_TMPDIR");
    builder.environment().putAll(env);
    Process process = builder.redirectErrorStream(true).start();
    return new String(process.getInputStream().readAllBytes()).lines().toList();
  }
}
