package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerEvent;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.QueueExecutor;
import dev.berth.node.TestApplications;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Code that the controller built on another instance, and that replicas here are to run. */
class ObtainedBuildsTest {
  private final Deque<Runnable> reading = new ArrayDeque<>();
  private final QueueExecutor control = new QueueExecutor();
  private final List<ControllerEvent> told = new ArrayList<>();
  private final List<String> asked = new ArrayList<>();
  private final Promise<BuildCache.BuildInputs> found = Promise.promise();
  private final BuildCache builds =
      new BuildCache(
          PlaneBuilder.hooks(reading::add),
          control,
          new BuildCache.BuildInputsLookup() {
            @Override
            public BuildCache.BuildInputs find(String application, long revision) {
              return source();
            }

            @Override
            public Future<BuildCache.BuildInputs> elsewhere(String application, String build) {
              asked.add(application + "/" + build);
              return found.future();
            }
          },
          told::add,
          gone -> {});

  private static BuildCache.BuildInputs source() {
    ServeConfig file =
        ConfigReader.read(
            "test.yaml",
            Path.of("."),
            "applications: [{name: a, import_path: '"
                + TestApplications.class.getName()
                + ":plain'}]");
    return new BuildCache.BuildInputs(file.applications().get(0), file);
  }

  private String build() {
    return ApplicationLoader.read(source(), java.util.Map.of(), BuiltInHandlers.NONE)
        .code()
        .build();
  }

  private void read() {
    while (!reading.isEmpty()) {
      reading.remove().run();
    }
    control.runAll();
  }

  @Test
  void isReadOnceForAllWhoAskMeanwhileAndGoesWithTheLastOfThem() {
    Future<LoadedApplication> first = builds.obtain("a", build());
    Future<LoadedApplication> second = builds.obtain("a", build());
    assertThat(asked).hasSize(1);
    found.complete(source());
    assertThat(reading).hasSize(1);
    read();
    assertThat(first.result()).isSameAs(second.result());
    builds.release(first.result());
    control.runAll();
    assertThat(builds.names()).hasSize(1);
    builds.release(second.result());
    control.runAll();
    assertThat(builds.names()).isEmpty();
    assertThat(told).as("the controller knows what it built").isEmpty();
  }

  @Test
  void anotherBuildThanTheControllersIsRefused() {
    Future<LoadedApplication> code = builds.obtain("a", "other");
    found.complete(source());
    read();
    assertThat(code.cause())
        .hasMessage("build: " + build() + " (expected: other, which the controller built)");
    assertThat(builds.names()).isEmpty();
  }

  @Test
  void whoCannotHaveItIsToldAndMayAskAgain() {
    Future<LoadedApplication> code = builds.obtain("a", "x");
    found.fail(new StartFailedException("jar: gone"));
    assertThat(code.cause()).hasMessage("jar: gone");
    builds.obtain("a", "x");
    assertThat(asked).hasSize(2);
  }

  @Test
  void nothingIsKeptOfWhatIsReadAfterTheEnd() {
    Future<LoadedApplication> code = builds.obtain("a", build());
    builds.closeAll();
    found.complete(source());
    read();
    assertThat(code.cause()).hasMessageContaining("instance is stopping");
    assertThat(builds.names()).isEmpty();
  }
}
