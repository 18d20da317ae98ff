/**
 * Web applications: typed routes with an OpenAPI document, as deployments of {@link dev.berth.api}.
 * Nothing in it depends on the runtime, so that it also runs in the test kit.
 */
@NullMarked
package dev.berth.web;

import org.jspecify.annotations.NullMarked;
