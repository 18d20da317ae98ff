package dev.berth.cli.dev;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigOrigin;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import io.vertx.core.json.JsonArray;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The loop of {@code berth dev}: waits for a change of the project, builds or compiles, and deploys
 * the result. Confined to the thread that runs it; an interrupt ends it.
 *
 * <p><b>Failure.</b> While the project has errors, its applications respond with them. A change of
 * the file that makes it invalid leaves the instance unchanged.
 */
public final class DevelopmentLoop {
  private static final long POLL_MS = 150;
  private static final long SETTLE_MS = 30;

  /** Settings of deployments: an old replica stops first, and waits one second for its requests. */
  private static final Map<String, String> WITHOUT_SURGE =
      Map.of("max_surge_percent", "0", "graceful_shutdown_timeout_s", "1");

  /** Instance that serves the applications, and the console of the user. */
  public interface DeployTarget {
    /**
     * Deploys the file with settings over it, and waits until every application runs.
     *
     * @param abandoned whether a later deploy replaces this one, which ends the wait
     * @throws ConfigException for an invalid file
     */
    DeployResult deploy(List<Setting> settings, BooleanSupplier abandoned)
        throws InterruptedException;

    /** Prints a line. */
    void print(String line);

    /** Waits for a duration in milliseconds. */
    void pause(long ms) throws InterruptedException;
  }

  /**
   * Result of a deploy.
   *
   * @param problems empty if every application runs, or if the wait was abandoned
   * @param deployments names of the running deployments by application; empty unless all run
   */
  public record DeployResult(List<String> problems, Map<String, List<String>> deployments) {}

  private final BuildTool tool;
  private final Path file;
  private final List<Setting> settings;
  private final boolean byBuildTool;
  private final DeployTarget target;
  private final ProjectJars jars;
  private final SourceCompiler compiler;

  private ProjectModel model = new ProjectModel(Map.of());
  private FileSnapshot seen = new FileSnapshot(Map.of());
  private boolean built; // since the last change of a build file
  private @Nullable Path jar; // null while it lacks a change
  private @Nullable ServeConfig read; // null while it lacks a change of the file
  private Map<String, List<String>> deployments = Map.of(); // that run
  private long lookedNanos;

  private DevelopmentLoop(
      BuildTool tool, Path file, List<Setting> settings, boolean byBuildTool, DeployTarget target) {
    this.tool = tool;
    this.file = file;
    this.settings = settings;
    this.byBuildTool = byBuildTool;
    this.target = target;
    this.jars = new ProjectJars(tool.scratch());
    this.compiler = new SourceCompiler(tool.folder());
  }

  /**
   * Creates the loop of the project at or above the folder of a file.
   *
   * @param scratch existing directory for files of the loop
   * @param settings override the file
   * @param byBuildTool whether the build tool compiles Java too
   * @return null without a project
   */
  public static @Nullable DevelopmentLoop find(
      Path file, Path scratch, List<Setting> settings, boolean byBuildTool, DeployTarget target) {
    BuildTool tool = BuildTool.find(Objects.requireNonNull(file.getParent()), scratch);
    return tool == null ? null : new DevelopmentLoop(tool, file, settings, byBuildTool, target);
  }

  /** Runs until an interrupt. */
  public void run() throws InterruptedException {
    while (true) {
      if (hasChanged()) {
        long began = System.nanoTime();
        FileSnapshot before = seen;
        seen = awaitStable(); // before the work: the next snapshot finds a later change
        try {
          if (work(seen.changedSince(before))) {
            target.print("live after %.2f s".formatted((System.nanoTime() - began) / 1e9));
          }
        } catch (IOException | RuntimeException failed) {
          boolean ofFile = failed instanceof ConfigException;
          target.print(ofFile ? failed.getMessage() : tool.folder() + ": " + failed);
        }
      }
      target.pause(POLL_MS);
    }
  }

  /** Returns whether a file changed. Looks at most once per interval, also while a deploy waits. */
  private boolean hasChanged() {
    if (System.nanoTime() - lookedNanos < POLL_MS * 1_000_000 / 2) {
      return false;
    }
    FileSnapshot now = snapshot();
    lookedNanos = System.nanoTime();
    return !now.equals(seen);
  }

  private FileSnapshot snapshot() {
    List<Path> roots = new ArrayList<>(tool.buildFiles());
    roots.addAll(List.of(file, tool.folder().resolve("src/main")));
    roots.addAll(model.sourceRoots());
    roots.addAll(model.resources());
    return FileSnapshot.of(roots);
  }

  /** Returns a snapshot after a pause without changes: editors write a file in several steps. */
  private FileSnapshot awaitStable() throws InterruptedException {
    FileSnapshot before = snapshot();
    while (true) {
      target.pause(SETTLE_MS);
      FileSnapshot now = snapshot();
      if (now.equals(before)) {
        return now;
      }
      before = now;
    }
  }

  /** Does the work that changes require; returns whether every application runs. */
  private boolean work(Set<Path> changed) throws IOException, InterruptedException {
    List<Path> forBuild = new ArrayList<>(tool.buildFiles());
    forBuild.addAll(model.copiesResources() ? List.of() : model.resources());
    for (Path each : changed) {
      built &= forBuild.stream().noneMatch(each::startsWith);
      jar = each.equals(file) ? jar : null;
      read = each.equals(file) ? null : read;
    }
    if (jar == null) {
      List<String> errors = built && compilesHere() ? compile() : build();
      if (!errors.isEmpty()) {
        errors.forEach(target::print);
        deployErrors(jars.ofErrors(errors));
        return false;
      }
    }
    return deploy(Objects.requireNonNull(jar));
  }

  private boolean compilesHere() {
    return !byBuildTool && model.isJavaAlone(seen.stamps().keySet());
  }

  private List<String> compile() throws IOException {
    Path classes = tool.scratch().resolve("classes");
    delete(classes); // also the classes of removed sources
    Files.createDirectories(classes);
    List<Path> sources =
        seen.stamps().keySet().stream()
            .filter(each -> each.toString().endsWith(".java"))
            .filter(each -> model.sourceRoots().stream().anyMatch(each::startsWith))
            .toList();
    List<String> errors = compiler.compile(model, sources, classes);
    jar = errors.isEmpty() ? jars.ofClasses(model, classes) : null;
    return errors;
  }

  private List<String> build() throws IOException, InterruptedException {
    target.print("building: " + tool.program());
    boolean packages = !built;
    BuildTool.BuildResult result = tool.run(packages);
    ProjectModel found = ProjectModel.parse(result.output());
    if (!result.succeeded() || found.outputs().isEmpty()) {
      List<String> errors = new ArrayList<>(List.of("build failed: " + tool.program()));
      errors.addAll(result.errors());
      return errors;
    }
    if (packages) {
      model = found;
      read = null;
      built = true;
      compiler.close(); // the class path may have changed
    }
    jar = jars.ofBuild(model, packages);
    return compilesHere() ? compile() : List.of(); // a build may leave classes of removed sources
  }

  private boolean deploy(Path classes) throws IOException, InterruptedException {
    if (read == null) {
      read = ConfigReader.read(file, settings);
    }
    List<Setting> all = new ArrayList<>(settings);
    for (ApplicationConfig each : read.applications()) {
      List<Path> substituted = jars.substituted(each.jars(), classes);
      if (!substituted.equals(each.jars())) {
        all.add(jarsOf(each.name(), substituted));
      }
    }
    if (all.size() == settings.size()) {
      target.print(file + ": no application has a jar with classes of " + tool.folder());
    }
    List<Setting> withoutSurge = new ArrayList<>(all);
    deployments.forEach(
        (application, names) ->
            names.forEach(
                name ->
                    WITHOUT_SURGE.forEach(
                        (key, value) ->
                            withoutSurge.add(
                                setting(application, "deployments[" + name + "]." + key, value)))));
    DeployResult result = target.deploy(withoutSurge, this::hasChanged);
    if (result.problems().stream().anyMatch(each -> each.contains("unknown to"))) {
      result = target.deploy(all, this::hasChanged); // a deployment was renamed or removed
    }
    result.problems().forEach(target::print);
    deployments = result.deployments().isEmpty() ? deployments : result.deployments();
    return !result.deployments().isEmpty();
  }

  private void deployErrors(Path page) throws InterruptedException {
    ServeConfig lenient = ConfigReader.readToStart(file, settings); // jars may be missing
    List<Setting> pages = new ArrayList<>(settings);
    Stream.concat(
            lenient.applications().stream()
                .filter(each -> !each.jars().isEmpty())
                .map(ApplicationConfig::name),
            lenient.origin().refused().stream().map(ConfigOrigin.RefusedEntry::name))
        .filter(Objects::nonNull)
        .forEach(
            name -> {
              pages.add(jarsOf(name, List.of(page)));
              pages.add(setting(name, "import_path", ErrorPage.class.getName()));
              pages.add(setting(name, "args", "{}"));
              pages.add(setting(name, "deployments", "[]"));
              pages.add(setting(name, "berth", "{}"));
            });
    target.deploy(pages, this::hasChanged).problems().forEach(target::print);
  }

  private static Setting jarsOf(String application, List<Path> jars) {
    JsonArray paths = new JsonArray(jars.stream().map(Path::toString).toList());
    return setting(application, "runtime_env.jars", paths.encode());
  }

  private static Setting setting(String application, String key, String value) {
    return Setting.yaml("berth dev", "applications[" + application + "]." + key, value);
  }

  /** Deletes a directory with its files. */
  static void delete(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> all = Files.walk(directory)) {
        for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(each);
        }
      }
    }
  }
}
