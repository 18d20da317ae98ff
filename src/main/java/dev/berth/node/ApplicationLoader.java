package dev.berth.node;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.DeploymentSettings;
import dev.berth.config.ImportPath;
import dev.berth.config.ServeConfig;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the code of an application and calls its builder. May block, and runs user code. */
final class ApplicationLoader {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationLoader.class);

  private ApplicationLoader() {}

  /**
   * @throws StartFailedException naming the application, its {@code import_path} and what is wrong
   */
  static LoadedApplication load(ApplicationConfig config, ServeConfig file) {
    URLClassLoader own = classLoader(config);
    ClassLoader loader = own == null ? ApplicationLoader.class.getClassLoader() : own;
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    try {
      Application application = build(config, loader);
      return new LoadedApplication(config, application, settings(config, application, file), own);
    } catch (RuntimeException | Error failed) {
      close(own, failed);
      throw failed;
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static @Nullable URLClassLoader classLoader(ApplicationConfig config) {
    if (config.jars().isEmpty()) {
      return null;
    }
    URL[] urls = new URL[config.jars().size()];
    for (int i = 0; i < urls.length; i++) {
      Path jar = config.jars().get(i);
      try {
        urls[i] = jar.toUri().toURL();
      } catch (MalformedURLException impossible) {
        throw new StartFailedException(
            "application " + config.name() + ": jars: " + jar + " (expected: a path of a file)");
      }
    }
    return new URLClassLoader(
        "application " + config.name(), urls, ApplicationLoader.class.getClassLoader());
  }

  private static void close(@Nullable URLClassLoader own, Throwable failed) {
    if (own != null) {
      try {
        own.close();
      } catch (IOException second) {
        failed.addSuppressed(second);
      }
    }
  }

  private static Application build(ApplicationConfig config, ClassLoader loader) {
    ImportPath path = config.importPath();
    Class<?> type;
    try {
      type = Class.forName(path.className(), true, loader);
    } catch (ClassNotFoundException missing) {
      throw wrong(
          config,
          "no such class (expected: a class in "
              + (config.jars().isEmpty() ? "berth.jar; runtime_env.jars is empty" : config.jars())
              + ")");
    } catch (LinkageError broken) {
      LOG.error("application {}: {} cannot be loaded", config.name(), path, broken);
      throw wrong(config, StartFailedException.describe(broken));
    }
    Object built = call(config, builder(config, type));
    if (!(built instanceof Application application)) {
      throw wrong(
          config,
          (built == null ? "returned null" : "returned a " + built.getClass().getName())
              + " (expected: a dev.berth.api.Application)");
    }
    return application;
  }

  /** The static method of that name: with a map of arguments, or without a parameter. */
  private static Method builder(ApplicationConfig config, Class<?> type) {
    Method withArgs = null;
    Method without = null;
    for (Method method : type.getMethods()) {
      if (method.getName().equals(config.importPath().method())
          && Modifier.isStatic(method.getModifiers())) {
        if (method.getParameterCount() == 0) {
          without = method;
        } else if (List.of(method.getParameterTypes()).equals(List.of(Map.class))) {
          withArgs = method;
        }
      }
    }
    Method chosen = withArgs != null ? withArgs : without;
    if (chosen == null) {
      throw wrong(
          config,
          "no such method (expected: public static, of a public class, without a parameter or with"
              + " one Map)");
    }
    if (chosen == without && !config.args().isEmpty()) {
      throw wrong(config, "takes no arguments (expected: a Map parameter, since args is set)");
    }
    return chosen;
  }

  private static @Nullable Object call(ApplicationConfig config, Method builder) {
    try {
      return builder.getParameterCount() == 0
          ? builder.invoke(null)
          : builder.invoke(null, config.args());
    } catch (InvocationTargetException thrown) {
      Throwable cause = thrown.getCause();
      LOG.error("application {}: {} failed", config.name(), config.importPath(), cause);
      throw wrong(config, StartFailedException.describe(cause));
    } catch (IllegalAccessException hidden) {
      throw wrong(config, "not accessible (expected: a public method of a public class)");
    } catch (LinkageError broken) {
      LOG.error("application {}: {} failed", config.name(), config.importPath(), broken);
      throw wrong(config, StartFailedException.describe(broken));
    }
  }

  private static StartFailedException wrong(ApplicationConfig config, String what) {
    return new StartFailedException(
        "application " + config.name() + ": import_path: " + config.importPath() + ": " + what);
  }

  /** The file's values over the code's, for each deployment of the code. */
  static Map<DeploymentId, DeploymentSettings> settings(
      ApplicationConfig config, Application application, ServeConfig file) {
    Map<DeploymentId, DeploymentSettings> settings = new LinkedHashMap<>();
    for (Deployment code : application.deployments()) {
      DeploymentConfig ofCode = DeploymentConfig.of(code);
      DeploymentConfig merged =
          config.deployment(code.name()).map(own -> own.over(ofCode)).orElse(ofCode);
      settings.put(
          new DeploymentId(config.name(), code.name()),
          merged
              .resolve(file.berth().limits(), config.logging())
              .atCapacity(file.targetCapacity()));
    }
    List<String> unknown =
        config.deployments().stream()
            .map(DeploymentConfig::name)
            .filter(name -> !settings.containsKey(new DeploymentId(config.name(), name)))
            .toList();
    if (!unknown.isEmpty()) {
      throw new StartFailedException(
          "application "
              + config.name()
              + ": deployments: "
              + String.join(", ", unknown)
              + " (expected: of "
              + String.join(", ", application.deployments().stream().map(Deployment::name).toList())
              + ")");
    }
    return settings;
  }
}
