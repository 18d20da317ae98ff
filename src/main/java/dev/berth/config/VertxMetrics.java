package dev.berth.config;

/** {@code berth.metrics.vertx}: the groups of Vert.x's own metrics. */
public enum VertxMetrics {
  /** Requests of the ingress and of the admin server, as Vert.x sees them. */
  HTTP_SERVER,
  /** Requests of clients that the application makes. */
  HTTP_CLIENT,
  /** Connections and bytes, TLS included. */
  NET,
  /** Messages of the event bus. */
  EVENT_BUS,
  /** Worker and connection pools: their queues and use. */
  POOLS
}
