package dev.berth.code;

import static dev.berth.config.ApplicationConfig.ARGS;
import static dev.berth.config.ApplicationConfig.IMPORT_PATH;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.SecretArguments;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.YamlScalars;
import dev.berth.protocol.UserFailure;
import dev.berth.replica.hooks.ContextClassLoaderScope;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The code that an application's {@code import_path} names, found but not yet run. May block on
 * disk access.
 *
 * @param config of the application
 * @param builder public, static; without a parameter, or with a map; null for a built-in
 *     application
 * @param classLoader of the application's jars; null when it has none
 */
record ApplicationCode(
    ApplicationConfig config,
    @Nullable Method builder,
    @Nullable ApplicationClassLoader classLoader)
    implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationCode.class);
  private static final int MAX_SECRET_BYTES = 64 << 10;

  private static final String BUILDER =
      "a public static method of a public class, without a parameter or with one Map, that"
          + " returns a dev.berth.api.Application";

  /**
   * Opens the jars and finds the builder.
   *
   * @throws ConfigException with all problems that can be found without running the code
   */
  static ApplicationCode find(ApplicationConfig config) {
    List<ConfigProblem> problems = new ArrayList<>();
    boolean builtIn = config.get(IMPORT_PATH).isBuiltIn();
    if (builtIn) {
      requireSecrets(config, problems);
      Optional.ofNullable(config.accessProblem()).ifPresent(problems::add);
    }
    ApplicationClassLoader own = open(config, problems);
    ClassLoader loader = own == null ? ApplicationCode.class.getClassLoader() : own;
    Method builder = problems.isEmpty() && !builtIn ? builder(config, loader, problems) : null;
    if (builder != null || builtIn) {
      new NamedClasses(config, loader, problems).check();
    }
    if ((builder != null || builtIn) && problems.isEmpty()) {
      return new ApplicationCode(config, builder, own);
    }
    ConfigException refused = new ConfigException(problems);
    close(config, own);
    throw refused;
  }

  /** Requires a directory of secrets for upstreams that name files in it. */
  private static void requireSecrets(ApplicationConfig config, List<ConfigProblem> problems) {
    boolean missing = config.settings().around(InstanceOptions.SECRETS_DIR) == null;
    for (Settings each : config.deployments()) {
      UpstreamOptions.byKey(each)
          .forEach(
              (key, upstream) -> {
                if (missing && UpstreamOptions.namesFiles(upstream)) {
                  String expected = "berth.secrets_dir of the instance";
                  problems.add(problem(config, "deployments", key + ", with files", expected));
                }
              });
    }
  }

  /** Returns the names of the deployments of the built-in application; the ingress is the first. */
  private List<String> names() {
    return config.deployments().stream().map(each -> each.get(DeploymentConfig.NAME)).toList();
  }

  /**
   * Returns the identity of the code. It is equal for equal {@code import_path}, args of a builder
   * and contents of the jars, independent of their paths and times. Uses the checksums in the
   * directories of the jars, and reads no contents.
   */
  String identity() {
    Fingerprint print = new Fingerprint().add("import_path", config.get(IMPORT_PATH));
    print.add("args", builder == null ? Map.of() : config.get(ARGS)); // else they change live
    if (builder == null) {
      print.add("deployments", names());
    }
    for (Path path : config.jars()) {
      try (JarFile jar = new JarFile(path.toFile())) {
        for (var entries = jar.entries(); entries.hasMoreElements(); ) {
          JarEntry entry = entries.nextElement();
          print.add(entry.getName(), entry.getCrc() * 31 + entry.getSize());
        }
      } catch (IOException broken) {
        throw new ConfigException(
            List.of(jarProblem(config, path, StartFailedException.describe(broken))));
      }
      print.add("jar", "end");
    }
    return print.toString();
  }

  /**
   * Returns a class loader of the jars; null without jars. Opens each jar, because a class loader
   * silently ignores a broken one.
   */
  private static @Nullable ApplicationClassLoader open(
      ApplicationConfig config, List<ConfigProblem> problems) {
    List<URL> urls = new ArrayList<>();
    for (Path path : config.jars()) {
      try {
        new JarFile(path.toFile()).close();
        urls.add(path.toUri().toURL());
      } catch (MalformedURLException | IllegalArgumentException strange) {
        problems.add(jarProblem(config, path, "not the path of a jar"));
      } catch (IOException broken) {
        problems.add(jarProblem(config, path, StartFailedException.describe(broken)));
      }
    }
    return urls.isEmpty()
        ? null
        : new ApplicationClassLoader(config.name(), urls, ApplicationCode.class.getClassLoader());
  }

  private static ConfigProblem jarProblem(ApplicationConfig config, Path jar, String what) {
    return problem(
        config, "runtime_env.jars", Jar.originalName(jar) + ": " + what, "a readable jar");
  }

  private static @Nullable Method builder(
      ApplicationConfig config, ClassLoader loader, List<ConfigProblem> problems) {
    String className = config.get(IMPORT_PATH).className();
    try {
      Method found = builder(config, Class.forName(className, false, loader).getMethods());
      if (found == null) {
        problems.add(problem(config, "no such method", BUILDER));
      } else if (!Application.class.isAssignableFrom(found.getReturnType())) {
        String type = found.getReturnType().getTypeName();
        problems.add(
            problem(config, "returns " + YamlScalars.shorten(type), BUILDER)); // never called
        return null;
      } else if (found.getParameterCount() == 0 && !config.get(ARGS).isEmpty()) {
        problems.add(
            problem(
                config,
                "args",
                "set, and " + config.get(IMPORT_PATH) + " has no parameter",
                "a builder with a Map parameter, or no args"));
        return null;
      }
      return found;
    } catch (ClassNotFoundException missing) {
      problems.add(
          problem(
              config,
              "no such class",
              config.jars().isEmpty()
                  ? "a class of Berth; runtime_env.jars is empty"
                  : "a class in " + names(config.jars())));
    } catch (LinkageError broken) {
      problems.add(
          problem(config, StartFailedException.describe(broken), "a class that can be loaded"));
    }
    return null;
  }

  private static String names(List<Path> jars) {
    List<String> names = jars.stream().limit(4).map(Jar::originalName).toList();
    return String.join(", ", names) + (jars.size() > 4 ? ", ..." : "");
  }

  /** Returns the builder with a map of arguments, or else the one without a parameter. */
  private static @Nullable Method builder(ApplicationConfig config, Method[] methods) {
    Method without = null;
    for (Method method : methods) {
      if (method.getName().equals(config.get(IMPORT_PATH).method())
          && Modifier.isStatic(method.getModifiers())
          && Modifier.isPublic(method.getDeclaringClass().getModifiers())) {
        if (List.of(method.getParameterTypes()).equals(List.of(Map.class))) {
          return method;
        }
        without = method.getParameterCount() == 0 ? method : without;
      }
    }
    return without;
  }

  /** Creates a problem with the value of a key of an application, at its position in the file. */
  static ConfigProblem problem(
      ApplicationConfig config, String key, String value, String expected) {
    return config.source().problem(key, value, expected);
  }

  private static ConfigProblem problem(ApplicationConfig config, String what, String expected) {
    return problem(config, "import_path", config.get(IMPORT_PATH) + ": " + what, expected);
  }

  /**
   * Calls the builder with the application's class loader as context class loader. Runs user code.
   *
   * @param builtIn handlers of the built-in application
   * @throws StartFailedException when the builder fails
   * @throws ConfigException when the result is not an application
   */
  Application build(BuiltInHandlers builtIn) {
    Method called = builder;
    if (called == null) {
      List<Deployment> all =
          names().stream()
              .map(each -> Deployment.of(each, builtIn.of(new DeploymentId(config.name(), each))))
              .toList();
      return Application.of(all.get(0), all.subList(1, all.size()).toArray(new Deployment[0]));
    }
    Object built = ContextClassLoaderScope.call(classLoader, () -> call(called));
    if (built instanceof Application application) {
      return application;
    }
    String what = built == null ? "returned null" : "returned a " + built.getClass().getName();
    throw new ConfigException(List.of(problem(config, what, BUILDER)));
  }

  private @Nullable Object call(Method called) {
    try {
      return called.getParameterCount() == 0
          ? called.invoke(null)
          : called.invoke(null, SecretArguments.read(config.get(ARGS), this::secret));
    } catch (InvocationTargetException thrown) {
      throw startFailure(thrown.getCause());
    } catch (IllegalAccessException | LinkageError broken) {
      throw startFailure(broken);
    }
  }

  /** Reads the value that an argument refers to. No failure message contains the value. */
  private String secret(String key, Map<?, ?> reference) {
    Object file = reference.get(SecretArguments.FILE);
    if (file == null) {
      String name = String.valueOf(reference.get(SecretArguments.ENV));
      String value = System.getenv(name);
      if (value == null) {
        throw unread(key, "$env " + name + ": not set", "a variable of the instance that runs it");
      }
      return value;
    }
    try (InputStream in = Files.newInputStream(Path.of(file.toString()))) {
      byte[] bytes = in.readNBytes(MAX_SECRET_BYTES + 1);
      if (bytes.length > MAX_SECRET_BYTES) {
        throw unread(key, "$file " + file + ": longer", "at most " + MAX_SECRET_BYTES + " bytes");
      }
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return text.replaceFirst("\\r?\\n\\z", "");
    } catch (IOException failed) {
      String why = StartFailedException.describe(failed);
      throw unread(key, "$file " + file + ": " + why, "UTF-8 that the node of the builder reads");
    }
  }

  private ConfigException unread(String key, String what, String expected) {
    return new ConfigException(List.of(problem(config, key, what, expected)));
  }

  private StartFailedException startFailure(Throwable cause) {
    LOG.error(
        "application {}: {} failed",
        config.name(),
        config.get(IMPORT_PATH),
        UserFailure.legible(cause));
    return new StartFailedException(
        "application %s: import_path: %s: %s"
            .formatted(
                config.name(), config.get(IMPORT_PATH), StartFailedException.describe(cause)));
  }

  /** Closes the jars. */
  @Override
  public void close() {
    close(config, classLoader);
  }

  private static void close(ApplicationConfig config, @Nullable ApplicationClassLoader own) {
    try {
      if (own != null) {
        own.close();
      }
    } catch (IOException failed) {
      LOG.warn("application {}: jars not closed", config.name(), failed);
    }
  }
}
