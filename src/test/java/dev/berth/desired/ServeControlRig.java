package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.CompiledJar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.BuildFailed;
import dev.berth.controller.DeclaredApplication;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import dev.berth.view.ControllerCommands;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Controls one after the other, with a folder, a disk, a clock and a controller of the test's. */
abstract class ServeControlRig {
  @TempDir Path folder;

  final StateStoreTestFiles disk = new StateStoreTestFiles();
  final FakeControls controls = new FakeControls();
  long nowMs = 1_000;
  long steadyMs;

  /** The one that was started last: what the steps below speak to. */
  ServeControl control;

  private final List<ServeControl> opened = new ArrayList<>();
  private final Deque<Runnable> offLoop = new ArrayDeque<>();

  ServeControl start(ServeConfig config, StateLog log) {
    control =
        new ServeControl(
            config,
            folder,
            log,
            offLoop::add,
            PlaneBuilder.loopOf(Runnable::run, () -> true),
            TimeOfDay.of(() -> nowMs, () -> steadyMs * 1_000_000));
    opened.add(control);
    control.connect(controls);
    control.open(List::of);
    control.applications().forEach(each -> controls.tell(new ControllerEvent.Declared(each)));
    return control;
  }

  Settings kept() {
    return ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, folder.resolve("state"));
  }

  /** The one started last; what it waits for is done first. */
  void stop() {
    stop(control);
  }

  void stop(ServeControl one) {
    opened.remove(one);
    Future<Void> closed = one.close();
    runAll();
    assertThat(closed.succeeded()).isTrue();
  }

  @AfterEach
  void stopAll() {
    List.copyOf(opened).forEach(this::stop);
  }

  void runAll() {
    while (!offLoop.isEmpty()) {
      offLoop.poll().run();
    }
  }

  // --- commands ---

  ControllerCommands commands() {
    return control.commands();
  }

  <T> T ok(Future<T> command) {
    runAll();
    assertThat(command.succeeded()).as(String.valueOf(command.cause())).isTrue();
    return command.result();
  }

  CommandRejectedException refused(CommandRejectionReason kind, Future<?> command) {
    runAll();
    assertThat(command.cause()).isInstanceOf(CommandRejectedException.class);
    CommandRejectedException refused = (CommandRejectedException) command.cause();
    assertThat(refused.kind()).as(refused.getMessage()).isEqualTo(kind);
    return refused;
  }

  void deploy(String application, String entry) {
    ok(submit(commands(), application, entry));
  }

  void deployRan(String application, String entry) {
    deploy(application, entry);
    ran(application);
  }

  // --- what the controller says ---

  void ran(String name) {
    running(name, revision(name), true);
  }

  void failed(String name) {
    announced(
        new Announce(
            name, revision(name), ApplicationStatus.DEPLOY_FAILED, "no model", false, Set.of()));
  }

  /**
   * @param ran deployments, by name
   */
  void running(String name, long revision, boolean proven, String... ran) {
    announced(new Announce(name, revision, ApplicationStatus.RUNNING, "", proven, Set.of(ran)));
  }

  private void announced(Announce announce) {
    control.announced(announce);
    runAll();
  }

  /** All that the controller was told is that a build failed for this. */
  void buildFailed(String why) {
    assertThat(controls.told)
        .singleElement()
        .isInstanceOfSatisfying(
            BuildFailed.class, failed -> assertThat(failed.reason()).contains(why));
  }

  // --- what there is ---

  List<String> names() {
    return control.applications().stream().map(DeclaredApplication::name).toList();
  }

  DeclaredApplication find(String name) {
    return control.applications().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  long revision(String name) {
    return find(name).revision();
  }

  /** What is built for it. */
  ApplicationConfig built(String name, long revision) {
    return Objects.requireNonNull(control.find(name, revision)).config();
  }

  String className(String name) {
    return className(name, revision(name));
  }

  String className(String name, long revision) {
    return built(name, revision).get(ApplicationConfig.IMPORT_PATH).className();
  }

  Path jar(String name) {
    return built(name, revision(name)).jars().get(0);
  }

  /** The jar that entries name, with that in it. */
  Path jarOf(String content) throws IOException {
    return CompiledJar.holding(folder.resolve("a.jar"), content);
  }
}
