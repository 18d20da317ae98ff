package dev.berth.node;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerEvent;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The code of this instance's applications, by build: read off the loop when the controller asks
 * for it, shared by the revisions that differ in nothing but settings, and given back when no
 * replica of it is left. Belongs to the control loop.
 */
public final class Builds {
  private static final Logger LOG = LoggerFactory.getLogger(Builds.class);

  /**
   * What is to be built.
   *
   * @param config of the application
   * @param file that {@code config} is a part of
   */
  public record Source(ApplicationConfig config, ServeConfig file) {}

  /** What was declared; null when that revision is not wanted any more. Control loop. */
  @FunctionalInterface
  public interface Sources {
    @Nullable Source find(String application, long revision);
  }

  private static final class Held {
    final LoadedApplication loaded;
    int replicas; // that may still run its code
    boolean discarded;

    Held(LoadedApplication loaded) {
      this.loaded = loaded;
    }
  }

  private final Executor offLoop;
  private final Executor control;
  private final Sources sources;
  private final Consumer<ControllerEvent> controller;
  private final Map<String, Map<String, Held>> held =
      new LinkedHashMap<>(); // by application, build
  private final Map<String, Future<LoadedApplication>> early = new HashMap<>();

  /**
   * @param offLoop runs user code
   * @param control runs tasks on the control loop
   * @param controller told what came of it
   */
  public Builds(
      Executor offLoop, Executor control, Sources sources, Consumer<ControllerEvent> controller) {
    this.offLoop = offLoop;
    this.control = control;
    this.sources = sources;
    this.controller = controller;
  }

  /** Code that is being read already answers the next build of its application. */
  public void readEarly(String application, Future<LoadedApplication> loading) {
    early.put(application, loading);
  }

  public void build(Build command) {
    String application = command.application();
    Future<LoadedApplication> loading = early.remove(application);
    if (loading == null) {
      Source source = sources.find(application, command.revision());
      if (source == null) {
        return; // another revision is wanted by now, and its build is on its way
      }
      loading = load(source);
    }
    loading.onComplete(
        loaded -> control.execute(() -> built(command, loaded)),
        failed -> control.execute(() -> failed(command, failed)));
  }

  private Future<LoadedApplication> load(Source source) {
    Promise<LoadedApplication> loaded = Promise.promise();
    offLoop.execute(
        () -> {
          try {
            loaded.complete(ApplicationLoader.load(source.config(), source.file()));
          } catch (Throwable thrown) { // user code
            loaded.fail(thrown);
          }
        });
    return loaded.future();
  }

  private void built(Build command, LoadedApplication loaded) {
    Map<String, Held> builds =
        held.computeIfAbsent(command.application(), name -> new LinkedHashMap<>());
    Held known = builds.get(loaded.build());
    if (known == null) {
      builds.put(loaded.build(), new Held(loaded));
    } else if (known.loaded != loaded) {
      close(loaded);
    }
    controller.accept(
        new ControllerEvent.Built(command.application(), command.revision(), loaded.built()));
  }

  private void failed(Build command, Throwable failed) {
    boolean expected = failed instanceof StartFailedException || failed instanceof ConfigException;
    if (!expected) {
      LOG.error("application {} cannot be loaded", command.application(), failed);
    }
    String reason =
        expected ? String.valueOf(failed.getMessage()) : StartFailedException.describe(failed);
    controller.accept(
        new ControllerEvent.BuildFailed(command.application(), command.revision(), reason));
  }

  public void discard(DiscardBuild command) {
    Held found = find(command.application(), command.build());
    if (found != null) {
      found.discarded = true;
      closeIfUnused(found);
    }
  }

  private void closeIfUnused(Held unused) {
    if (unused.discarded && unused.replicas == 0) {
      LoadedApplication loaded = unused.loaded;
      Map<String, Held> builds = held.get(loaded.name());
      if (builds != null && builds.remove(loaded.build(), unused)) {
        if (builds.isEmpty()) {
          held.remove(loaded.name());
        }
        close(loaded);
      }
    }
  }

  private @Nullable Held find(String application, String build) {
    Map<String, Held> builds = held.get(application);
    return builds == null ? null : builds.get(build);
  }

  /**
   * The code of a build, for one more replica, which gives it back with {@link #release}.
   *
   * @return null when there is no such build
   */
  @Nullable LoadedApplication acquire(String application, String build) {
    Held found = find(application, build);
    if (found == null) {
      return null;
    }
    found.replicas++;
    return found.loaded;
  }

  /** Nothing of a replica is left. Any thread. */
  void release(LoadedApplication loaded) {
    control.execute(() -> released(loaded));
  }

  private void released(LoadedApplication loaded) {
    Held found = find(loaded.name(), loaded.build());
    if (found != null) {
      found.replicas--;
      closeIfUnused(found);
    }
  }

  /** Gives back the jars of all of them. */
  void closeAll() {
    held.values().forEach(builds -> builds.values().forEach(each -> close(each.loaded)));
    held.clear();
    early.values().forEach(loading -> loading.onSuccess(Builds::close));
    early.clear();
  }

  private static void close(LoadedApplication loaded) {
    try {
      loaded.close();
    } catch (IOException failed) {
      LOG.warn("application {}: its jars did not close", loaded.name(), failed);
    }
  }
}
