package dev.berth.cli;

import io.vertx.core.Future;
import java.util.function.Supplier;

/**
 * What {@code berth run} needs of a started node.
 *
 * @param close drains and stops it; completes when nothing of it is left
 * @param stopAsked completes when it is told to stop from inside, with who told it
 */
public record RunningNode(Supplier<Future<Void>> close, Future<String> stopAsked) {}
