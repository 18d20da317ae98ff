package dev.berth.cli.dev;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigOrigin;
import dev.berth.config.ConfigReader;
import dev.berth.config.DeployPayload;
import dev.berth.config.ServeConfig;
import dev.berth.config.Setting;
import io.vertx.core.json.JsonArray;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
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
  private static final String OPTION = "berth dev";

  /** Settings of deployments: an old replica stops first, and waits one second for its requests. */
  private static final Map<String, String> WITHOUT_SURGE =
      Map.of("max_surge_percent", "0", "graceful_shutdown_timeout_s", "1");

  /** Work that the present files require. */
  private enum PendingWork {
    NONE,
    JAR,
    COMPILE,
    BUILD
  }

  /** Instance that serves the applications. */
  public interface DeployTarget {
    /**
     * Deploys, and waits until every application runs.
     *
     * @param abandoned whether a later deploy replaces this one, which ends the wait
     */
    DeployResult deploy(DeployPayload payload, BooleanSupplier abandoned)
        throws InterruptedException;
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
  private final Consumer<String> console;
  private final DeployTarget target;
  private final ProjectJars jars;
  private final Path classes;
  private final SourceCompiler compiler;

  private ProjectModel model = new ProjectModel(Map.of());
  private FileSnapshot seen = new FileSnapshot(Map.of());
  private PendingWork pending = PendingWork.BUILD;
  private @Nullable Path jar; // of the last successful work
  private boolean fileRead;
  private long lookedNanos = System.nanoTime();
  private Map<String, List<Path>> applications = Map.of(); // their jars in the file
  private Map<String, List<String>> deployments = Map.of(); // that run

  private DevelopmentLoop(
      BuildTool tool,
      Path file,
      List<Setting> settings,
      boolean byBuildTool,
      Consumer<String> console,
      DeployTarget target) {
    this.tool = tool;
    this.file = file;
    this.settings = settings;
    this.byBuildTool = byBuildTool;
    this.console = console;
    this.target = target;
    this.jars = new ProjectJars(tool.scratch());
    this.classes = tool.scratch().resolve("classes");
    this.compiler = new SourceCompiler(tool.folder());
  }

  /**
   * Creates the loop of the project at or above the folder of a file.
   *
   * @param scratch existing directory for files of the loop
   * @param settings override the file
   * @param byBuildTool whether the build tool compiles Java too
   * @param console receives lines for the user
   * @throws IllegalArgumentException without a project
   */
  public static DevelopmentLoop of(
      Path file,
      Path scratch,
      List<Setting> settings,
      boolean byBuildTool,
      Consumer<String> console,
      DeployTarget target) {
    Path folder = Objects.requireNonNull(file.toAbsolutePath().normalize().getParent());
    BuildTool tool = BuildTool.find(folder, scratch);
    if (tool == null) {
      throw new IllegalArgumentException(
          folder + ": no project (expected: pom.xml or build.gradle here or above)");
    }
    return new DevelopmentLoop(tool, file, settings, byBuildTool, console, target);
  }

  /** Runs until an interrupt. */
  public void run() throws InterruptedException {
    while (true) {
      FileSnapshot now = snapshot();
      Set<Path> changed = now.changedSince(seen);
      if (!changed.isEmpty()) {
        now = settled(now);
        changed = now.changedSince(seen);
        seen = now; // before the work: a later change is found by the next snapshot
        try {
          react(changed);
        } catch (ConfigException invalid) {
          invalid.problems().forEach(each -> console.accept(each.toString()));
        } catch (IOException | RuntimeException failed) {
          console.accept(tool.folder() + ": " + failed);
        }
      }
      Thread.sleep(POLL_MS);
    }
  }

  private FileSnapshot snapshot() {
    List<Path> roots = new ArrayList<>(tool.buildFiles());
    roots.add(file);
    roots.add(tool.folder().resolve("src/main"));
    roots.addAll(model.sourceRoots());
    roots.addAll(model.resources());
    return FileSnapshot.of(roots);
  }

  /** Returns a snapshot after a pause without changes: editors write a file in several steps. */
  private FileSnapshot settled(FileSnapshot first) throws InterruptedException {
    FileSnapshot before = first;
    while (true) {
      Thread.sleep(SETTLE_MS);
      FileSnapshot now = snapshot();
      if (now.equals(before)) {
        return now;
      }
      before = now;
    }
  }

  private void react(Set<Path> changed) throws IOException, InterruptedException {
    for (Path each : changed) {
      fileRead &= !each.equals(file);
      pending = max(pending, workAfter(each));
    }
    List<String> errors = pending == PendingWork.NONE ? List.of() : work();
    if (!errors.isEmpty()) {
      errors.forEach(console);
      jar = null;
      deployErrors(errors);
      return;
    }
    pending = PendingWork.NONE;
    deploy(changed);
  }

  private static PendingWork max(PendingWork left, PendingWork right) {
    return left.compareTo(right) > 0 ? left : right;
  }

  private PendingWork workAfter(Path changed) {
    if (tool.buildFiles().stream().anyMatch(changed::startsWith)) {
      return PendingWork.BUILD;
    } else if (changed.equals(file)) {
      return PendingWork.NONE;
    }
    boolean resource = model.resources().stream().anyMatch(changed::startsWith);
    return resource && model.copiesResources() ? PendingWork.JAR : PendingWork.COMPILE;
  }

  /** Does the pending work; returns the errors. */
  private List<String> work() throws IOException, InterruptedException {
    boolean inProcess = !byBuildTool && model.isJavaAlone(seen.stamps().keySet());
    if (pending == PendingWork.BUILD || !inProcess) {
      return build();
    }
    if (pending == PendingWork.COMPILE || !Files.isDirectory(classes)) {
      delete(classes); // also the classes of removed sources
      Files.createDirectories(classes);
      List<Path> sources =
          seen.stamps().keySet().stream()
              .filter(each -> each.toString().endsWith(".java"))
              .filter(each -> model.sourceRoots().stream().anyMatch(each::startsWith))
              .toList();
      List<String> errors = compiler.compile(model, sources, classes);
      if (!errors.isEmpty()) {
        pending = PendingWork.COMPILE;
        return errors;
      }
    }
    jar = jars.ofClasses(model, classes);
    return List.of();
  }

  private List<String> build() throws IOException, InterruptedException {
    boolean all = pending == PendingWork.BUILD;
    console.accept("building: " + tool.program());
    long began = System.nanoTime();
    BuildTool.BuildResult result = tool.run(all);
    if (!result.succeeded()) {
      return Stream.concat(Stream.of("build failed: " + tool.program()), result.errors().stream())
          .toList();
    }
    ProjectModel found = ProjectModel.parse(result.output());
    if (found.outputs().isEmpty()) {
      return List.of("build: no compilation in the output of " + tool.program());
    }
    if (all) {
      FileSnapshot before = seen;
      model = found;
      jars.onBuilt(model);
      compiler.close(); // the class path may have changed
      fileRead = false;
      seen = new FileSnapshot(merged(before)); // roots that the model adds are no change
    }
    delete(classes);
    jar = jars.ofBuild(model);
    console.accept("built in %.1f s".formatted((System.nanoTime() - began) / 1e9));
    return List.of();
  }

  /** Returns the stamps of a snapshot, and of the files that it did not cover. */
  private Map<Path, FileSnapshot.FileStamp> merged(FileSnapshot before) {
    Map<Path, FileSnapshot.FileStamp> stamps = new HashMap<>(snapshot().stamps());
    stamps.keySet().removeIf(each -> each.startsWith(tool.folder().resolve("src/main")));
    stamps.putAll(before.stamps());
    return stamps;
  }

  private void deploy(Set<Path> changed) throws IOException, InterruptedException {
    if (!fileRead) {
      Map<String, List<Path>> read = new HashMap<>();
      for (ApplicationConfig each : ConfigReader.read(file, settings).applications()) {
        read.put(each.name(), each.jars());
      }
      applications = read;
      fileRead = true;
    }
    List<Setting> substitutes = new ArrayList<>(settings);
    for (Map.Entry<String, List<Path>> each : applications.entrySet()) {
      List<Path> own = jars.substituted(each.getValue(), Objects.requireNonNull(jar));
      if (own != null) {
        substitutes.add(jarsOf(each.getKey(), own));
      }
    }
    if (substitutes.size() == settings.size()) {
      console.accept(file + ": no application has a jar with classes of " + tool.folder());
    }
    List<Setting> withoutSurge = new ArrayList<>(substitutes);
    deployments.forEach(
        (application, names) ->
            names.forEach(
                name ->
                    WITHOUT_SURGE.forEach(
                        (key, value) ->
                            withoutSurge.add(
                                setting(
                                    application, ".deployments[" + name + "]." + key, value)))));
    DeployResult result = deploy(withoutSurge);
    if (result.problems().stream().anyMatch(each -> each.contains("unknown to"))) {
      result = deploy(substitutes); // a deployment was renamed or removed
    }
    result.problems().forEach(console);
    if (!result.deployments().isEmpty()) {
      deployments = result.deployments();
      long saved = seen.newestMs(changed);
      console.accept(
          saved == 0 || changed.size() == seen.stamps().size()
              ? "live"
              : "live %.2f s after the save".formatted((System.currentTimeMillis() - saved) / 1e3));
    }
  }

  private DeployResult deploy(List<Setting> all) throws InterruptedException {
    return target.deploy(ConfigReader.submission(file, all), this::hasChanged);
  }

  /** Returns whether a file changed; looks at most once per interval. */
  private boolean hasChanged() {
    long now = System.nanoTime();
    if (now - lookedNanos < POLL_MS * 1_000_000) {
      return false;
    }
    lookedNanos = now;
    return !snapshot().changedSince(seen).isEmpty();
  }

  private void deployErrors(List<String> errors) throws IOException, InterruptedException {
    Path page = jars.ofErrors(errors);
    ServeConfig read = ConfigReader.readToStart(file, settings);
    List<Setting> pages = new ArrayList<>(settings);
    Stream.concat(
            read.applications().stream()
                .filter(each -> !each.get(ApplicationConfig.IMPORT_PATH).isBuiltIn())
                .map(ApplicationConfig::name),
            read.origin().refused().stream().map(ConfigOrigin.RefusedEntry::name))
        .filter(Objects::nonNull)
        .forEach(
            name -> {
              pages.add(jarsOf(name, List.of(page)));
              pages.add(setting(name, ".import_path", ErrorPage.class.getName()));
              pages.add(setting(name, ".args", "{}"));
              pages.add(setting(name, ".deployments", "[]"));
              pages.add(setting(name, ".berth", "{}"));
            });
    deploy(pages).problems().forEach(console);
  }

  private static Setting jarsOf(String application, List<Path> jars) {
    JsonArray paths = new JsonArray(jars.stream().map(Path::toString).toList());
    return setting(application, ".runtime_env.jars", paths.encode());
  }

  private static Setting setting(String application, String key, String value) {
    return Setting.yaml(OPTION, "applications[" + application + "]" + key, value);
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
