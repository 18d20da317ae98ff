/**
 * What a key of the file is, and what is said of it: its declaration, the types of values, the
 * sections that keys stand in, the settings that files and code make of them, and where in a file
 * all of that is read and found to be wrong. It knows none of Berth's keys, which are declared
 * above it in {@link dev.berth.config}.
 */
@org.jspecify.annotations.NullMarked
package dev.berth.config.keys;
