import dev.berth.api.DeploymentHandle;
import dev.berth.api.RequestContext;

/**
 * How {@link Calls} calls its child on behalf of a request: {@code before/Child.java} is of old.
 */
final class Child {
  private Child() {}

  static DeploymentHandle of(RequestContext context, DeploymentHandle bare) {
    return context.handle(bare.deployment().name());
  }
}
