import dev.berth.api.DeploymentHandle;
import dev.berth.api.RequestContext;

/** For a {@code berth.jar} whose contexts had no handles. */
final class Child {
  private Child() {}

  static DeploymentHandle of(RequestContext context, DeploymentHandle bare) {
    return bare.within(context);
  }
}
