package dev.berth.simulation;

import static dev.berth.fakes.Submits.submit;

import dev.berth.config.ConfigReader;
import dev.berth.desired.DesiredState;
import dev.berth.desired.JournalLog;
import dev.berth.desired.ServeControl;
import dev.berth.desired.SimulatedDisk;
import dev.berth.fakes.PlaneBuilder;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * What an instance by itself has left before {@code berth.cluster} was added to it: a journal, in
 * which the application is declared, and scaled. It was killed.
 */
final class ClusterJournal {
  private final SimulatedDisk disk = new SimulatedDisk(() -> {});
  private final Deque<Runnable> tasks = new ArrayDeque<>();
  private final Path directory = Path.of(".");

  private ClusterJournal() {}

  /** As a cluster's first log reads it. */
  static DesiredState left(String application, String entry, int replicas, LongSupplier millis) {
    return new ClusterJournal().written(application, entry, replicas, millis);
  }

  private DesiredState written(
      String application, String entry, int replicas, LongSupplier millis) {
    Stub<ServeControl.ControllerOperations> controls =
        new Stub<>(ServeControl.ControllerOperations.class)
            .on("tell", told -> null)
            .on("jarsInUse", none -> null)
            .on("deployments", of -> Map.of("model", false))
            .on("restart", term -> Future.succeededFuture())
            .on("drain", none -> Future.succeededFuture());
    JournalLog log = disk.log(directory);
    ServeControl control =
        new ServeControl(
            ConfigReader.read("file", directory, "applications: []\n"),
            directory,
            log,
            tasks::add,
            PlaneBuilder.loopOf(Runnable::run, () -> true),
            millis::getAsLong);
    control.connect(controls.made);
    control.open(List::of);
    done(submit(control.commands(), application, entry));
    done(control.commands().scale(application, "model", replicas));
    disk.killed();
    JournalLog again = disk.log(directory);
    again.open();
    return again.state();
  }

  private void done(Future<?> command) {
    while (!tasks.isEmpty()) {
      tasks.remove().run();
    }
    if (!command.succeeded()) {
      throw new IllegalStateException("a journal: not written", command.cause());
    }
  }
}
