/**
 * The declaration and reading of configuration keys: keys, types of values, sections, the settings
 * built from files and code, and the positions of problems. Independent of Berth's own keys, which
 * {@link dev.berth.config} declares.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.config.keys;
