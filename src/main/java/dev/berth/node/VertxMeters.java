package dev.berth.node;

import dev.berth.config.MetricsOptions.VertxMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.micrometer.Label;
import io.vertx.micrometer.MetricsDomain;
import io.vertx.micrometer.MicrometerMetricsFactory;
import io.vertx.micrometer.MicrometerMetricsOptions;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Configures Vert.x to count into the registry of the instance. Loaded only if the settings name
 * such a metric.
 */
final class VertxMeters {
  /** Labels, without the method and the route, which clients choose. */
  private static final Set<Label> LABELS =
      EnumSet.of(Label.HTTP_CODE, Label.EB_SIDE, Label.POOL_TYPE, Label.POOL_NAME);

  private VertxMeters() {}

  static VertxBuilder into(
      MeterRegistry registry,
      List<VertxMetrics> wanted,
      VertxOptions options,
      VertxBuilder builder) {
    Set<MetricsDomain> off = EnumSet.allOf(MetricsDomain.class);
    wanted.forEach(each -> off.removeAll(domains(each)));
    MicrometerMetricsOptions counted =
        new MicrometerMetricsOptions().setEnabled(true).setLabels(LABELS);
    off.forEach(counted::addDisabledMetricsCategory);
    return builder
        .with(options.setMetricsOptions(counted))
        .withMetrics(new MicrometerMetricsFactory(registry));
  }

  private static Set<MetricsDomain> domains(VertxMetrics wanted) {
    return switch (wanted) {
      case HTTP_SERVER -> EnumSet.of(MetricsDomain.HTTP_SERVER);
      case HTTP_CLIENT -> EnumSet.of(MetricsDomain.HTTP_CLIENT);
      case NET -> EnumSet.of(MetricsDomain.NET_SERVER, MetricsDomain.NET_CLIENT);
      case EVENT_BUS -> EnumSet.of(MetricsDomain.EVENT_BUS);
      case POOLS -> EnumSet.of(MetricsDomain.NAMED_POOLS);
    };
  }
}
