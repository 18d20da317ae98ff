package dev.berth.code;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.RouterOptions;
import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Settings;
import dev.berth.replica.hooks.UnderLoader;
import java.util.List;

/** The rankers of users' own that a file names. */
public final class RankerClasses {
  private RankerClasses() {}

  /** Adds a problem for each that would not do. */
  static void check(ApplicationConfig config, ClassLoader loader, List<Problem> problems) {
    int index = 0;
    for (Settings each : config.deployments()) {
      RouterOptions.Choice choice =
          RouterOptions.choice(each.find(DeploymentConfig.REQUEST_ROUTER_CONFIG));
      String path = "deployments[" + index++ + "].request_router_config.request_router_class";
      String name = choice.className();
      String wrong =
          name == null
              ? null
              : NamedClass.wrong(ReplicaRanker.class, name, !choice.arguments().isEmpty(), loader);
      if (wrong != null) {
        String expected = NamedClass.expected(ReplicaRanker.class, "request_router_kwargs");
        problems.add(config.source().problem(path, name + ": " + wrong, expected));
      }
    }
  }

  /**
   * Makes one. Runs user code.
   *
   * @throws Exception what its constructor threw, among others
   */
  public static ReplicaRanker make(RouterOptions.Choice choice, LoadedApplication code)
      throws Exception {
    ClassLoader own = code.classLoader();
    ClassLoader loader = own == null ? RankerClasses.class.getClassLoader() : own;
    return UnderLoader.call(
        loader,
        () ->
            NamedClass.make(
                ReplicaRanker.class,
                String.valueOf(choice.className()),
                choice.arguments(),
                loader));
  }
}
