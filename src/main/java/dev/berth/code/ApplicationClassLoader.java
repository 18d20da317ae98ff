package dev.berth.code;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * Class loader of one application. It searches the application's own jars first, so that the
 * application uses its own versions of libraries, independent of Berth and other applications.
 *
 * <p><b>Shared classes.</b> Classes of shared packages come from Berth only; otherwise a handler's
 * {@code Future} would be a different class from the replica's. The shared packages are those of
 * the JDK, {@code dev.berth.api}, {@code dev.berth.web}, Vert.x with its Netty, and SLF4J. A class
 * of these packages that Berth lacks, such as one of another module of Vert.x, is loaded from the
 * jars. A class that the jars lack is loaded from Berth, except the classes of Berth's messages.
 */
final class ApplicationClassLoader extends URLClassLoader {
  /** Prefix of the name of each loader; the name of its application follows. */
  static final String NAMED = "application ";

  private static final List<String> SHARED =
      List.of(
          "java.",
          "javax.",
          "jdk.",
          "sun.",
          "com.sun.",
          "org.w3c.dom.",
          "org.xml.sax.",
          "dev.berth.api.",
          "dev.berth.web.",
          "io.vertx.",
          "io.netty.",
          "org.slf4j.");

  /** Packages of Berth's messages, which applications must not create. */
  private static final List<String> HIDDEN = List.of("dev.berth.protocol.", "dev.berth.cluster.");

  static {
    registerAsParallelCapable();
  }

  /** The name of the application. */
  final String application;

  private final ClassLoader berth;
  private final Queue<Class<?>> made = new ConcurrentLinkedQueue<>();

  ApplicationClassLoader(String application, List<URL> jars, ClassLoader berth) {
    super(NAMED + application, jars.toArray(URL[]::new), berth);
    this.application = application;
    this.berth = berth;
  }

  private static boolean isShared(String name) {
    return SHARED.stream().anyMatch(name::startsWith);
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (isShared(name)) {
      return super.loadClass(name, resolve); // parent first, the default order
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> found = findLoadedClass(name);
      if (found == null) {
        found = findOwn(name);
      }
      if (found == null && HIDDEN.stream().anyMatch(name::startsWith)) {
        throw new ClassNotFoundException(name + ": hidden from applications");
      }
      if (found == null) {
        return super.loadClass(name, resolve);
      }
      if (resolve) {
        resolveClass(found);
      }
      return found;
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    Class<?> found = super.findClass(name);
    made.add(found);
    return found;
  }

  /**
   * Returns the static thread locals of the loaded classes. Runs user code when a class was not
   * initialized.
   *
   * @param names receives the names of the fields
   */
  List<ThreadLocal<?>> threadLocals(List<String> names) {
    List<ThreadLocal<?>> locals = new ArrayList<>();
    for (Class<?> each : made) {
      try {
        for (Field field : each.getDeclaredFields()) {
          if (Modifier.isStatic(field.getModifiers())
              && ThreadLocal.class.isAssignableFrom(field.getType())) {
            field.setAccessible(true);
            locals.add((ThreadLocal<?>) field.get(null));
            names.add(each.getName() + "." + field.getName());
          }
        }
      } catch (ReflectiveOperationException | RuntimeException | LinkageError broken) {
        // This class has no accessible thread locals; other classes may have some.
      }
    }
    locals.removeIf(Objects::isNull);
    return locals;
  }

  private @Nullable Class<?> findOwn(String name) {
    try {
      return findClass(name);
    } catch (ClassNotFoundException elsewhere) {
      return null;
    }
  }

  @Override
  public @Nullable URL getResource(String name) {
    URL own = isShared(name.replace('/', '.')) ? null : findResource(name);
    return own != null ? own : super.getResource(name);
  }

  /**
   * Returns a stream with a jar file of its own. The default one shares a jar file with the loaders
   * of other builds, and the close of any of them would close the stream.
   */
  @Override
  public @Nullable InputStream getResourceAsStream(String name) {
    URL found = getResource(name);
    if (found == null) {
      return null;
    }
    try {
      URLConnection connection = found.openConnection();
      connection.setUseCaches(false);
      return connection.getInputStream();
    } catch (IOException unreadable) {
      return null; // as the default method does
    }
  }

  @Override
  public Enumeration<URL> getResources(String name) throws IOException {
    List<URL> all = Collections.list(findResources(name));
    int theirs = isShared(name.replace('/', '.')) ? 0 : all.size();
    all.addAll(theirs, Collections.list(berth.getResources(name)));
    return Collections.enumeration(all);
  }
}
