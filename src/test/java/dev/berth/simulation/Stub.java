package dev.berth.simulation;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Answers the methods of an interface of Vert.x or Netty that somebody calls, by their names; its
 * default methods are as they are, and any other is a failure. One thread.
 */
final class Stub<T> implements InvocationHandler {
  /** What a method does. */
  @FunctionalInterface
  interface Answer {
    @Nullable Object to(Object[] arguments);
  }

  private static final Object[] NOTHING = new Object[0];

  private final Class<T> type;
  private final Map<String, Answer> answers = new HashMap<>();
  final T made;

  Stub(Class<T> type) {
    this.type = type;
    made =
        type.cast(Proxy.newProxyInstance(Stub.class.getClassLoader(), new Class<?>[] {type}, this));
  }

  Stub<T> on(String method, Answer answer) {
    answers.put(method, answer);
    return this;
  }

  /** Methods that give back what they are called on. */
  Stub<T> fluent(String... methods) {
    for (String each : methods) {
      on(each, arguments -> made);
    }
    return this;
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] given)
      throws Throwable {
    Object[] arguments = given == null ? NOTHING : given;
    Answer answer = answers.get(method.getName());
    if (answer != null) {
      return answer.to(arguments);
    }
    if (method.isDefault()) {
      return InvocationHandler.invokeDefault(proxy, method, arguments);
    }
    return switch (method.getName()) {
      case "toString" -> type.getSimpleName();
      case "hashCode" -> System.identityHashCode(proxy);
      case "equals" -> proxy == arguments[0];
      default -> throw new UnsupportedOperationException(method.toString());
    };
  }
}
