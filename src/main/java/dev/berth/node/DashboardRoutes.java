package dev.berth.node;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.ExplainRing;
import dev.berth.admin.page.PageRoutes;
import dev.berth.admin.page.PlayRoutes;
import dev.berth.config.AdminOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.Ingress;
import java.util.List;

/** Assembles the routes of the page for browsers, unless {@code berth.admin.dashboard} is false. */
final class DashboardRoutes {
  private DashboardRoutes() {}

  static List<AdminRoutes> of(
      InstanceRuntime.InstanceContext on, Ingress ingress, ExplainRing explained) {
    Settings settings = on.config().settings();
    return settings.get(AdminOptions.DASHBOARD)
        ? List.of(
            new PageRoutes(
                !settings.get(AdminOptions.BEARER_TOKENS).isEmpty(),
                on.identity().node(),
                version()),
            new PlayRoutes(
                settings,
                new PlayRoutes.DataPort(ingress::port, ingress::tls),
                explained,
                ingress::explainNext,
                on.meters()))
        : List.of();
  }

  /** Returns the version of Berth. */
  static String version() {
    String version = DashboardRoutes.class.getPackage().getImplementationVersion();
    return version == null ? "unknown" : version;
  }
}
