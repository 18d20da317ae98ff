/**
 * What Berth is told to do: a YAML or JSON file in Ray Serve's field names, read into immutable
 * records, or refused with all of its problems at once, each with its place in the file.
 *
 * <p>Each key is declared once, in the record that holds its value: name, type, range, default and
 * meaning. Reading, checking and {@code docs/configuration.md} come from that declaration; the
 * defaults are in {@link dev.berth.config.Defaults}. Everything here is immutable and may be read
 * from any thread. Source: Ray Serve's ServeDeploySchema; Berth's own keys are under {@code berth}.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.config;
