package dev.berth.web;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.FileSystem;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.internal.VertxWrapper;
import io.vertx.core.shareddata.SharedData;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;

/**
 * The Vert.x of an instance for one application. Its shared data is its own, and its file system
 * also reads the resources in the jars.
 */
final class ApplicationVertx extends VertxWrapper {
  private final SharedData own;
  private final FileSystem files;

  ApplicationVertx(VertxInternal vertx, String application, ClassLoader jars) {
    super(vertx);
    SharedData all = vertx.sharedData();
    this.own =
        proxy(
            SharedData.class,
            (proxy, method, arguments) -> {
              if (arguments != null && arguments[0] instanceof String name) {
                arguments[0] = application + '#' + name;
              }
              return method.invoke(all, arguments);
            });
    FileSystem disk = vertx.fileSystem();
    this.files =
        proxy(
            FileSystem.class,
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "readFileBlocking" -> read(disk, jars, (String) arguments[0]);
                  case "readFile" ->
                      vertx.executeBlocking(() -> read(disk, jars, (String) arguments[0]), false);
                  default -> method.invoke(disk, arguments);
                });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler calls) {
    InvocationHandler unwrapped =
        (proxy, method, arguments) -> {
          try {
            return calls.invoke(proxy, method, arguments);
          } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
          }
        };
    return type.cast(
        Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, unwrapped));
  }

  /** Returns the bytes of a file, or else of a resource. */
  private static Buffer read(FileSystem disk, ClassLoader jars, String name) throws IOException {
    if (!Path.of(name).isAbsolute() && !disk.existsBlocking(name)) {
      try (InputStream resource = jars.getResourceAsStream(name)) {
        if (resource != null) {
          return Buffer.buffer(resource.readAllBytes());
        }
      }
    }
    return disk.readFileBlocking(name);
  }

  @Override
  public SharedData sharedData() {
    return own;
  }

  @Override
  public FileSystem fileSystem() {
    return files;
  }
}
