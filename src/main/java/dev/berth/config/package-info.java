/**
 * The configuration of Berth: a YAML or JSON file with Ray Serve's field names. The reader returns
 * immutable settings, or refuses the file with all its problems at once, each with its position.
 *
 * <p>Each key is declared once: name, type, range, default, reach and meaning. Reading, checking,
 * merging, the effective configuration, the effect of a change, the schema and {@code
 * docs/configuration.md} derive from that declaration. All types here are immutable and
 * thread-safe. Source: Ray Serve's ServeDeploySchema; Berth's own keys are under {@code berth}.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.config;
