package dev.berth.fakes;

import dev.berth.view.ControllerCommands;
import dev.berth.view.ControllerCommands.DeployRequest;
import io.vertx.core.Future;
import org.jspecify.annotations.Nullable;

/** Deploys that leave out what they do not look at: what is not named goes. */
public final class Submits {
  private Submits() {}

  public static Future<Void> submit(
      ControllerCommands to, @Nullable String application, String config, @Nullable String file) {
    return to.deploy(new DeployRequest(application, config, file, true, null, false)).mapEmpty();
  }

  /** Everything, as nobody's file. */
  public static Future<Void> submit(ControllerCommands to, String config) {
    return submit(to, null, config, null);
  }

  /** One application, as nobody's file. */
  public static Future<Void> submit(ControllerCommands to, String application, String config) {
    return submit(to, application, config, null);
  }
}
