/**
 * What Berth is told to do: a YAML or JSON file in Ray Serve's field names, read into immutable
 * settings, or refused with all of its problems at once, each with its place in the file.
 *
 * <p>Each key is declared once: name, type, range, default, what it reaches, and meaning. Reading,
 * checking, merging, the effective configuration, what a change needs, the schema and {@code
 * docs/configuration.md} come from that declaration. Everything here is immutable and may be read
 * from any thread. Source: Ray Serve's ServeDeploySchema; Berth's own keys are under {@code berth}.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.config;
