package dev.berth.simulation;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.fakes.Answering;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The code of every simulated application, found by its {@code import_path}. What it does wrong is
 * in the names of its versions, which {@link LifecycleCode} explains.
 */
public final class LifecycleUserCode {
  /** The simulations that run, by the name that their applications are given. */
  static final Map<String, LifecycleHooks> RUNS = new ConcurrentHashMap<>();

  private LifecycleUserCode() {}

  /** The builder. */
  public static Application build(Map<String, Object> args) throws Exception {
    LifecycleHooks hooks = RUNS.get(String.valueOf(args.get("run")));
    hooks.build();
    if (String.valueOf(args.get("build")).endsWith("!")) {
      throw new IllegalStateException("it cannot be built");
    }
    List<Deployment> parts = new ArrayList<>();
    for (Object each : (List<?>) args.get("parts")) {
      Map<?, ?> part = (Map<?, ?>) each;
      String code = String.valueOf(part.get("code"));
      parts.add(
          Deployment.of(
              String.valueOf(part.get("name")),
              replica -> {
                Handler made = new Handler(hooks, code);
                hooks.handlers.put(replica.replicaId(), made);
                return made;
              }));
    }
    return Application.of(parts.get(0), parts.subList(1, parts.size()).toArray(Deployment[]::new));
  }

  /** One replica. */
  static final class Handler extends Answering {
    private final LifecycleHooks hooks;
    private final String code;
    final Set<String> taken = new HashSet<>(); // configurations
    boolean isTaking; // one
    boolean hasRefused; // the last
    boolean sick;

    Handler(LifecycleHooks hooks, String code) {
      super("ok");
      this.hooks = hooks;
      this.code = code;
    }

    @Override
    public void start() throws Exception {
      hooks.start(code);
      if (code.endsWith("!") || (code.endsWith("~") && hooks.chance(40))) {
        throw new IllegalStateException("it does not start");
      }
      if (code.endsWith("+")) {
        hooks.later(TimeUnit.SECONDS.toMillis(5 + hooks.draw(15)), () -> sick = true);
      }
    }

    @Override
    public void reconfigure(Map<String, Object> userConfig) throws Exception {
      String live = String.valueOf(userConfig.get("live"));
      isTaking = true;
      hasRefused = true;
      try {
        hooks.reconfigure(live);
      } finally {
        isTaking = false;
      }
      if (live.endsWith("!")) {
        throw new IllegalStateException("it does not take it");
      }
      hasRefused = false;
      taken.add(live);
    }

    @Override
    public void checkHealth() throws Exception {
      hooks.checkHealth();
      if (sick) {
        throw new IllegalStateException("it is sick");
      }
    }

    @Override
    public void stop() throws Exception {
      hooks.stop();
    }
  }
}
