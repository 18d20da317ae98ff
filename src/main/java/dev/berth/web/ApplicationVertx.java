package dev.berth.web;

import io.vertx.core.internal.VertxInternal;
import io.vertx.core.internal.VertxWrapper;
import io.vertx.core.shareddata.SharedData;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** The Vert.x of an instance for one application, whose shared data is its own. */
final class ApplicationVertx extends VertxWrapper {
  private final SharedData own;

  ApplicationVertx(VertxInternal vertx, String application) {
    super(vertx);
    SharedData all = vertx.sharedData();
    this.own =
        (SharedData)
            Proxy.newProxyInstance(
                SharedData.class.getClassLoader(),
                new Class<?>[] {SharedData.class},
                (proxy, method, arguments) -> {
                  if (arguments != null && arguments[0] instanceof String name) {
                    arguments[0] = application + '#' + name;
                  }
                  try {
                    return method.invoke(all, arguments);
                  } catch (InvocationTargetException thrown) {
                    throw thrown.getCause();
                  }
                });
  }

  @Override
  public SharedData sharedData() {
    return own;
  }
}
